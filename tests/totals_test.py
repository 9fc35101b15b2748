import pytest
import totals

CASES = {
    '<testcase name="a" status="run"/>': (1, 0, 0),
    '<testcase name="a"/>': (1, 0, 0),
    '<testcase name="a" status="fail"><failure/></testcase>': (0, 1, 0),
    '<testcase name="a"><error/></testcase>': (0, 1, 0),
    '<testcase name="a"><skipped message="no GPU"/></testcase>': (0, 0, 1),
    '<testcase name="a" status="disabled"/>': (0, 0, 1),
    '<testcase name="a" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>': (
        0,
        0,
        1,
    ),
    '<testcase name="a" status="notrun"><skipped message="no executable"/></testcase>': (0, 1, 0),
    "": (0, 1, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_each_outcome_counts_once(tmp_path, capsys, case):
    results = tmp_path / "results.xml"
    results.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    passed, failed, skipped = CASES[case]

    assert totals.main([str(results)]) == failed
    last_line = capsys.readouterr().out.splitlines()[-1]
    assert last_line == f"{passed} passed, {failed} failed, {skipped} skipped"


def test_a_missing_file_is_a_failure(tmp_path):
    assert totals.main([str(tmp_path / "none.xml")]) == 1


def test_a_file_that_is_none_of_tests_is_refused(tmp_path, capsys):
    results = tmp_path / "results.xml"
    for text in ("", "<testsuites>", "5", "\x00"):
        results.write_text(text)
        assert totals.main([str(results)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"totals: error: {results}: not XML")
