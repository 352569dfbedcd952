# cmake -DOUTPUT=file -DFILES=file;… -P join_tests.cmake: a source of several test files. The headers of all stand first, so that each file, whose own
# includes then say nothing new, can lie in a namespace of its own. There `lastbit` is the library's and what the file adds to it.
set(headers "")
set(namespaces "")
foreach(file IN LISTS FILES)
  file(STRINGS "${file}" lines REGEX "^#include ")
  list(APPEND headers ${lines})
  cmake_path(GET file STEM name)
  string(APPEND namespaces "\nnamespace ${name} {\nnamespace lastbit {\nusing namespace ::lastbit;\n}\n#include \"${file}\"\n}  // namespace ${name}\n")
endforeach()
list(REMOVE_DUPLICATES headers)
list(JOIN headers "\n" headers)
file(WRITE "${OUTPUT}" "${headers}\n${namespaces}")
