# cmake -DBUILD=<build> -DPREFIX=<folder> -DVERSION=<x.y.z> -DCONFIG=<type> -DDATA=<data/> -P install_test.cmake: installs into
# a fresh prefix, asks the commands there and builds a project of somebody else's against the package.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${status}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

function(expect text)
  if(NOT out MATCHES "${text}")
    message(FATAL_ERROR "expected '${text}' in:\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${PREFIX})
set(installed ${PREFIX}/first)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${installed})

# A prefix can be moved: each command has its data within it, unless VRAMFIT_DATA names others.
set(moved ${PREFIX}/moved)
file(RENAME ${installed} ${moved})
set(ENV{VRAMFIT_DATA})
run(${moved}/bin/vramfit --version)
expect("^vramfit ${VERSION} \\(.+\\)\n$")
run(${moved}/bin/vramfit --model tinyllama-1.1b --gpu rtx4090)
expect("FITS")
run(${moved}/bin/vramfit-bench --device=virtual:h200 --model=tinyllama-1.1b
  --benchmark_filter=Inference --precision=bf16 --batch=1 --seq=512)
expect("Inference/tinyllama-1.1b/bf16\n *batch:1/seq:512 ")

file(COPY ${DATA}/ DESTINATION ${PREFIX}/data PATTERN runs EXCLUDE)
file(RENAME ${PREFIX}/data/models/tinyllama-1.1b ${PREFIX}/data/models/of-this-folder)
set(ENV{VRAMFIT_DATA} ${PREFIX}/data)
run(${moved}/bin/vramfit --model of-this-folder --gpu rtx4090)
expect("FITS")
set(ENV{VRAMFIT_DATA})

run(${moved}/bin/vramfit-compare --version)
expect("^vramfit ${VERSION} \\(.+\\)\n$")

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${PREFIX}/build
  -DCMAKE_PREFIX_PATH=${moved} -DCMAKE_BUILD_TYPE=${CONFIG} -DWANTED=${VERSION})
run(${CMAKE_COMMAND} --build ${PREFIX}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${PREFIX}/build --output-on-failure)
