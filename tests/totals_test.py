import pytest
import totals

CASES = {
    '<testcase name="a" status="run"/>': (1, 0, 0),
    '<testcase name="a"/>': (1, 0, 0),
    '<testcase name="a" status="fail"><failure/></testcase>': (0, 1, 0),
    '<testcase name="a"><error/></testcase>': (0, 1, 0),
    '<testcase name="a"><skipped message="no GPU"/></testcase>': (0, 0, 1),
    '<testcase name="a" status="disabled"/>': (0, 0, 1),
    '<testcase name="a" status="run" result="completed"/>': (1, 0, 0),
    '<testcase name="a" status="notrun" result="suppressed"/>': (0, 0, 1),
    '<testcase name="a" status="run" result="skipped"><skipped message="x"/></testcase>': (0, 0, 1),
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


RUN = '<testcase name="t:Some/Suite" status="run"/>'
FAILED = '<testcase name="t:Some/Suite" status="fail"><failure/></testcase>'
PASSES = '<testcase name="a" status="run" result="completed"/>'
FAILS = '<testcase name="b" status="run" result="completed"><failure/></testcase>'


@pytest.mark.parametrize(
    ("by_ctest", "by_itself", "counted"),
    [
        (RUN, PASSES + PASSES, (2, 0, 0)),
        (FAILED, PASSES + FAILS, (1, 1, 0)),
        (FAILED, PASSES, (1, 1, 0)),  # a leak
        (FAILED, None, (0, 1, 0)),  # a crash
    ],
)
def test_a_suite_counts_by_its_tests(tmp_path, capsys, by_ctest, by_itself, counted):
    files = {"results/asan.xml": by_ctest, "asan/results/t:Some.Suite.xml": by_itself}
    files["cpu/results/t:Some.Suite.xml"] = PASSES  # the same of another preset
    for name, cases in files.items():
        if cases:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"<testsuites>{cases}</testsuites>")
    totals.main([str(tmp_path / name) for name in files if files[name]])
    passed, failed, skipped = counted
    last_line = capsys.readouterr().out.splitlines()[-1]
    assert last_line == f"{passed + 1} passed, {failed} failed, {skipped} skipped"


def test_a_missing_file_is_a_failure(tmp_path):
    assert totals.main([str(tmp_path / "none.xml")]) == 1


def test_a_file_that_is_none_of_tests_is_refused(tmp_path, capsys):
    results = tmp_path / "results.xml"
    for text in ("", "<testsuites>", "5", "\x00"):
        results.write_text(text)
        assert totals.main([str(results)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"totals: error: {results}: not XML")
