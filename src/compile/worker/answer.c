/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/worker/answer.h"

#include <string.h>

#include "codegen/codegen.h"

static tw_codegen *codegen; /* of this process, made once */

static tw_status start(tw_error *error)
{
    return codegen ? TW_OK : tw_codegen_new(&codegen, error);
}

const char *tw_worker_identity(void)
{
    tw_error error;
    return start(&error) == TW_OK ? tw_codegen_identity(codegen) : "without a code generator";
}

static tw_status compile(const tw_tree *tree, tw_bytes *out, tw_error *error)
{
    tw_kernel_info info;
    tw_bytes code = {0};
    tw_status status = tw_codegen_compile(codegen, tree, 3, &info, &code, error);
    if (status == TW_OK) {
        tw_bytes_append(out, &info, sizeof info);
        tw_bytes_append(out, code.data, code.size);
    }
    tw_bytes_free(&code);
    return status;
}

static tw_status answer_tree(tw_question question, const tw_tree *tree, tw_bytes *out, tw_error *error)
{
    switch (question) {
    case TW_QUESTION_COMPILE: return compile(tree, out, error);
    case TW_QUESTION_SCHEDULE: tw_tree_print(tree, out); return TW_OK;
    case TW_QUESTION_LLVM: return tw_codegen_dump(codegen, tree, 3, "llvm", out, error);
    case TW_QUESTION_ASM: return tw_codegen_dump(codegen, tree, 3, "asm", out, error);
    }
    return tw_fail(error, TW_INVALID, "the compile worker was asked something that it doesn't know");
}

static tw_status answer_model(tw_question question, const tw_model *model, const char *facts_text, size_t size, tw_bytes *out,
                              tw_error *error)
{
    static tw_facts facts; /* large; one thread */
    TW_TRY(tw_facts_parse(model, facts_text, size, &facts, error));
    TW_TRY(start(error));
    tw_arena arena;
    tw_arena_init(&arena, (size_t)256 << 20);
    tw_tree *tree;
    tw_status status = tw_schedule_make(model, &facts, tw_codegen_target(codegen), &arena, &tree, error);
    if (status == TW_OK) status = answer_tree(question, tree, out, error);
    tw_arena_free(&arena);
    return status;
}

tw_status tw_worker_answer(tw_question question, const char *request, size_t size, tw_bytes *out, tw_error *error)
{
    size_t model_size = tw_model_text_size(request, size);
    tw_model *model;
    TW_TRY(tw_model_parse(request, model_size, &model, error));
    tw_status status = answer_model(question, model, request + model_size, size - model_size, out, error);
    tw_model_free(model);
    return status;
}
