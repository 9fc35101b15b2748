# cmake -DBUILD=<build> -DPREFIX=<folder> -DVERSION=<x.y.z> -DCONFIG=<type> -P install_test.cmake: installs into
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

# A prefix can be moved. A model that only the prefix has shows whose data the commands read.
set(moved ${PREFIX}/moved)
file(RENAME ${installed} ${moved})
file(RENAME ${moved}/share/vramfit/models/tinyllama-1.1b ${moved}/share/vramfit/models/of-this-prefix)
set(ENV{VRAMFIT_DATA})
run(${moved}/bin/vramfit --version)
expect("^vramfit ${VERSION} \\(.+\\)\n$")
run(${moved}/bin/vramfit --model of-this-prefix --gpu rtx4090)
expect("FITS")
run(${moved}/bin/vramfit-bench --device=virtual:h200 --model=of-this-prefix
  --benchmark_filter=Inference --precision=bf16 --batch=1 --seq=512)
expect("Inference/of-this-prefix/bf16/batch:1/seq:512")

run(${moved}/bin/vramfit-compare --version)
expect("^vramfit ${VERSION} \\(.+\\)\n$")

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${PREFIX}/build
  -DCMAKE_PREFIX_PATH=${moved} -DCMAKE_BUILD_TYPE=${CONFIG} -DWANTED=${VERSION})
run(${CMAKE_COMMAND} --build ${PREFIX}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${PREFIX}/build --output-on-failure)
