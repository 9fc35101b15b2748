# cmake -DNAME= -DPROGRAM= -DOUTPUT= -DRESULTS=<folder> -DPROPERTIES=<list> -P gtest_suites.cmake: each suite of
# a GoogleTest program as a ctest case NAME:Suite, which writes what its tests came to into a file of that name.
# Not a process for each test: what a suite sets up once would be set up in each.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n]+\\." suites "${listed}")
string(REPLACE ";" " " properties "${PROPERTIES}")
set(text "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n?(.*)\\.$" "\\1" suite "${suite}")
  string(REPLACE "/" "." file "${NAME}:${suite}")
  string(APPEND text
    "add_test([=[${NAME}:${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=]\n"
    "  [=[--gtest_output=xml:${RESULTS}/${file}.xml]=])\n"
    "set_tests_properties([=[${NAME}:${suite}]=] PROPERTIES ${properties})\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
