/* SPDX-License-Identifier: Apache-2.0 */
/* opcodes.def against an independent source: wabt's assembler and validator. Each mnemonic is assembled by
 * wat2wasm and its bytes read back by us; each instruction with fixed types is put in a function of exactly these
 * types, which wat2wasm validates. */
#include "wat.h"

#include "wasm/module.h"

/* wabt's names where they are older than the standard's. */
static const char *wat_name(const tw_op_info *info)
{
    static const char *const older[][2] = {
        {"i16x8.relaxed_dot_i8x16_i7x16_s", "i16x8.dot_i8x16_i7x16_s"},
        {"i32x4.relaxed_dot_i8x16_i7x16_add_s", "i32x4.dot_i8x16_i7x16_add_s"},
    };
    for (size_t i = 0; i < sizeof older / sizeof *older; i++)
        if (strcmp(older[i][0], info->name) == 0) return older[i][1];
    return info->name;
}

static const char *immediate(const tw_op_info *info)
{
    switch ((tw_imm)info->imm) {
    case TW_IMM_BLOCK: return "";
    case TW_IMM_CALL_INDIRECT: return " (type 0)";
    case TW_IMM_LABELS: return " 0 0 0";
    case TW_IMM_TYPES: return " (result i32)";
    case TW_IMM_MEM_LANE: case TW_IMM_LANE: return " 1";
    case TW_IMM_SHUFFLE: return " 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
    case TW_IMM_DATA_MEMORY: case TW_IMM_ELEM_TABLE: case TW_IMM_DATA: case TW_IMM_ELEM: case TW_IMM_LABEL:
    case TW_IMM_FUNC: case TW_IMM_LOCAL: case TW_IMM_GLOBAL: case TW_IMM_TABLE: case TW_IMM_I32: return " 0";
    case TW_IMM_I64: return " -5";
    case TW_IMM_F32: case TW_IMM_F64: return " 1.5";
    case TW_IMM_V128: return " i32x4 1 2 3 4";
    case TW_IMM_REF: return " func";
    default: return "";
    }
}

static void preamble(FILE *out)
{
    fprintf(out, "(module (type (func)) (memory 1) (table 1 funcref) (global (mut i32) (i32.const 0))\n"
                 "(data \"x\") (elem func 0)\n");
}

static bytes assemble(FILE *text_file, char **text, const char *flags)
{
    char all[200];
    fclose(text_file);
    snprintf(all, sizeof all, WAT_FEATURES " %s", flags);
    bytes b = wat(all, *text);
    free(*text);
    return b;
}

/* Structured instructions come in a fixed frame before the others. */
static int is_structured(tw_op op)
{
    return op == TW_OP_BLOCK || op == TW_OP_LOOP || op == TW_OP_IF || op == TW_OP_ELSE || op == TW_OP_END;
}

static void every_mnemonic_has_the_bytes_of_another_assembler(void **state)
{
    (void)state;
    char *text;
    size_t text_size;
    FILE *out = open_memstream(&text, &text_size);
    preamble(out);
    fprintf(out, "(func (local i32)\n block end\n loop end\n if nop else nop end\n");
    for (unsigned op = 1; op < TW_OP_COUNT; op++)
        if (!is_structured((tw_op)op))
            fprintf(out, "%s%s\n", wat_name(tw_op_describe((tw_op)op)), immediate(tw_op_describe((tw_op)op)));
    fprintf(out, "))\n");
    bytes b = assemble(out, &text, "--no-check");
    tw_wasm module;
    tw_error error;
    if (tw_wasm_decode((tw_span){b.data, b.size}, NULL, &module, &error) != TW_OK) fail_msg("%s", error.message);
    const uint8_t *locals;
    uint32_t count;
    tw_reader reader;
    tw_instr instr;
    assert_int_equal(tw_wasm_body(&module, 0, &module.arena, &reader, &locals, &count, &error), TW_OK);
    static const tw_op frame[] = {TW_OP_BLOCK, TW_OP_END, TW_OP_LOOP, TW_OP_END, TW_OP_IF, TW_OP_NOP,
                                  TW_OP_ELSE, TW_OP_NOP, TW_OP_END};
    for (size_t i = 0; i < sizeof frame / sizeof *frame; i++) {
        assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_OK);
        assert_int_equal(instr.op, frame[i]);
    }
    for (unsigned op = 1; op < TW_OP_COUNT; op++) {
        if (is_structured((tw_op)op)) continue;
        const tw_op_info *info = tw_op_describe((tw_op)op);
        if (tw_wasm_next(&reader, &instr, &error) != TW_OK) fail_msg("%s: %s", info->name, error.message);
        if (instr.op != (tw_op)op) fail_msg("%s read as %s", info->name, tw_op_describe(instr.op)->name);
        if (info->access)
            assert_int_equal(1u << instr.imm.mem.align, info->access); /* the assembler's natural alignment */
    }
    assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_OK);
    assert_int_equal(instr.op, TW_OP_END);
    assert_int_equal(tw_wasm_next(&reader, &instr, &error), TW_MALFORMED);
    tw_wasm_free(&module);
    free(b.data);
}

static void write_types(FILE *out, const char *keyword, const char *letters)
{
    if (!*letters) return;
    fprintf(out, " (%s", keyword);
    for (; *letters; letters++) fprintf(out, " %s", tw_type_name(tw_type_from_letter(*letters)));
    fprintf(out, ")");
}

static void operand_and_result_types_validate(void **state)
{
    (void)state;
    char *text;
    size_t text_size;
    FILE *out = open_memstream(&text, &text_size);
    preamble(out);
    fprintf(out, "(func (type 0))\n");
    for (unsigned op = 1; op < TW_OP_COUNT; op++) {
        const tw_op_info *info = tw_op_describe((tw_op)op);
        if (strchr(info->operands, '*') || strchr(info->results, '*')) continue;
        fprintf(out, "(func");
        write_types(out, "param", info->operands);
        write_types(out, "result", info->results);
        for (unsigned i = 0; info->operands[i]; i++) fprintf(out, " local.get %u", i);
        fprintf(out, " %s%s)\n", wat_name(info), immediate(info));
    }
    fprintf(out, ")\n");
    free(assemble(out, &text, "").data);
}

static void names_and_codes_are_found_again(void **state)
{
    (void)state;
    for (unsigned op = 1; op < TW_OP_COUNT; op++) {
        const tw_op_info *info = tw_op_describe((tw_op)op);
        assert_int_equal(tw_op_from_code(info->prefix, info->code), op);
        if (op != TW_OP_SELECT_T)
            assert_int_equal(tw_op_from_name(info->name, (uint32_t)strlen(info->name)), op);
    }
    assert_int_equal(tw_op_from_name("i32.addx", 8), TW_OP_INVALID);
    assert_int_equal(tw_op_from_name("i32.addx", 7), TW_OP_I32_ADD);
    assert_int_equal(tw_op_from_name("i32.ad", 6), TW_OP_INVALID);
    assert_int_equal(tw_op_from_name("i32.add\0x", 9), TW_OP_INVALID);
    assert_int_equal(tw_op_from_code(0, 0x14), TW_OP_INVALID);
    assert_int_equal(tw_op_from_code(0xFE, 0), TW_OP_INVALID);
    assert_int_equal(tw_op_from_code(0xFD, UINT32_MAX), TW_OP_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mnemonic_has_the_bytes_of_another_assembler),
        cmocka_unit_test(operand_and_result_types_validate),
        cmocka_unit_test(names_and_codes_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
