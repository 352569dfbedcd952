# Writes the one file as WORK_DIR/lastbit/core.hpp, and compiles and runs an example with it.
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}/lastbit")
execute_process(COMMAND "${PYTHON}" "${SOURCE_DIR}/tools/write_single_header" OUTPUT_FILE "${WORK_DIR}/lastbit/core.hpp" COMMAND_ERROR_IS_FATAL ANY)
foreach(example IN ITEMS one_value own_policy gna_sigmoid binary16_saturates)
  execute_process(
    COMMAND "${COMPILER}" -std=c++20 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -I "${WORK_DIR}" "${SOURCE_DIR}/examples/core/${example}.cpp"
            -o "${WORK_DIR}/${example}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${WORK_DIR}/${example}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
