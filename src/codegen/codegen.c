/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/codegen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/inside.h"

/* Vectors are emitted as such, so LLVM's part is to tidy up: what the emitter repeats is folded, what doesn't change is
 * hoisted. Nothing here vectorises or reassociates floats. */
#define TIDY "early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),early-cse,simplifycfg"
static const char passes[] = "function(" TIDY ")";

/* Strength reduction takes half of LLVM's time with symbolic strides. It is worth it where lanes lie apart, each with an address of
 * its own; elsewhere addresses are emitted a sum a scope already, and loops come out no faster for it. */
static const char reducing_passes[] = "function(" TIDY ",loop(loop-reduce))";

struct tw_codegen {
    char *triple, *cpu, *features;
    char identity[2048];
    tw_target target;
    LLVMTargetMachineRef machines[2]; /* unoptimised; optimised */
};

static bool has_feature(const char *features, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(features, name); at; at = strstr(at + 1, name))
        if ((at == features || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return true;
    return false;
}

static tw_target target_of(const char *features)
{
    if (has_feature(features, "+avx512vl") && has_feature(features, "+avx512bw")) return (tw_target){32, 32};
    if (has_feature(features, "+avx2")) return (tw_target){32, 16};
    return (tw_target){16, 16};
}

static LLVMTargetMachineRef make_machine(const tw_codegen *c, LLVMCodeGenOptLevel level, tw_error *error)
{
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(c->triple, &target, &message)) {
        tw_fail(error, TW_UNSUPPORTED, "LLVM can't make code for %s: %s", c->triple, message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, c->triple, c->cpu, c->features, level, LLVMRelocPIC,
                                                           LLVMCodeModelSmall);
    if (!machine) tw_fail(error, TW_UNSUPPORTED, "LLVM has no target machine for %s", c->cpu);
    return machine;
}

static tw_status fill(tw_codegen *c, tw_error *error)
{
    c->triple = LLVMGetDefaultTargetTriple();
    c->cpu = LLVMGetHostCPUName();
    c->features = LLVMGetHostCPUFeatures();
    if (!c->triple || !c->cpu || !c->features) return tw_fail_memory(error);
    if (strncmp(c->triple, "x86_64", 6)) return tw_fail(error, TW_UNSUPPORTED, "kernels are made for x86-64 only");
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(c->identity, sizeof c->identity, "abi %d, llvm %u.%u.%u lsr by kernel, %s, %s", TW_KERNEL_ABI, major, minor, patch, c->cpu,
             c->features);
    c->target = target_of(c->features);
    c->machines[0] = make_machine(c, LLVMCodeGenLevelNone, error);
    c->machines[1] = c->machines[0] ? make_machine(c, LLVMCodeGenLevelDefault, error) : NULL;
    return c->machines[1] ? TW_OK : TW_UNSUPPORTED;
}

/* Strength reduction is a pass of ours, where it is wanted at all; else the code generator would run it always. */
static void set_up_llvm(void)
{
    static const char *const words[] = {"codegen", "-disable-lsr"};
    LLVMParseCommandLineOptions(2, words, NULL);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
}

tw_status tw_codegen_new(tw_codegen **out, tw_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_llvm);
    tw_codegen *c = calloc(1, sizeof *c);
    if (!c) return tw_fail_memory(error);
    tw_status status = fill(c, error);
    if (status == TW_OK) *out = c;
    else tw_codegen_free(c);
    return status;
}

void tw_codegen_free(tw_codegen *c)
{
    if (!c) return;
    for (int i = 0; i < 2; i++)
        if (c->machines[i]) LLVMDisposeTargetMachine(c->machines[i]);
    LLVMDisposeMessage(c->triple);
    LLVMDisposeMessage(c->cpu);
    LLVMDisposeMessage(c->features);
    free(c);
}

const char *tw_codegen_identity(const tw_codegen *c)
{
    return c->identity;
}

const tw_target *tw_codegen_target(const tw_codegen *c)
{
    return &c->target;
}

/* ---- one compilation ---- */

typedef struct job {
    tw_codegen *codegen;
    const tw_tree *tree;
    LLVMTargetMachineRef machine;
    unsigned level;
    LLVMContextRef context;
    LLVMModuleRef module;
    uint32_t arg_count;
    bool reduces; /* strength reduction */
    tw_arena arena;
    tw_error *error;
    tw_status diagnosed;
} job;

static void take_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    job *j = context;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || j->diagnosed != TW_OK) return;
    char *text = LLVMGetDiagInfoDescription(info);
    j->diagnosed = tw_fail(j->error, TW_REFUSED, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

static void add_attribute(job *j, LLVMValueRef function, const char *key, const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(j->context, key, (unsigned)strlen(key), value,
                                                           (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static void add_flag(job *j, LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(j->context, kind, 0));
}

static void add_attributes(job *j, LLVMValueRef function)
{
    add_attribute(j, function, "no-builtins", "");
    add_attribute(j, function, "target-cpu", j->codegen->cpu);
    add_attribute(j, function, "target-features", j->codegen->features);
    add_attribute(j, function, "prefer-vector-width", "256");
    add_flag(j, function, "nounwind");
    if (j->level == 0) {
        add_flag(j, function, "optnone");
        add_flag(j, function, "noinline");
    }
}

static void set_types(tw_emitter *e, LLVMContextRef context)
{
    e->i1 = LLVMInt1TypeInContext(context);
    e->i8 = LLVMInt8TypeInContext(context);
    e->i16 = LLVMInt16TypeInContext(context);
    e->i32 = LLVMInt32TypeInContext(context);
    e->i64 = LLVMInt64TypeInContext(context);
    e->i128 = LLVMInt128TypeInContext(context);
    e->f32 = LLVMFloatTypeInContext(context);
    e->f64 = LLVMDoubleTypeInContext(context);
    e->pointer = LLVMPointerTypeInContext(context, 0);
}

static tw_status make_emitter(job *j, tw_emitter **out)
{
    tw_emitter *e = TW_NEW(&j->arena, tw_emitter);
    TW_TRY_ALLOC(e, j->error);
    const tw_model *model = j->tree->model;
    *e = (tw_emitter){.tree = j->tree, .model = model, .facts = j->tree->facts, .arena = &j->arena, .error = j->error,
                      .context = j->context, .module = j->module};
    e->values = TW_NEW_ARRAY(&j->arena, tw_instances, model->value_count);
    e->offsets = tw_arena_array(&j->arena, model->access_count, sizeof *e->offsets);
    e->representative = TW_NEW_ARRAY(&j->arena, uint32_t, model->access_count);
    e->delta = TW_NEW_ARRAY(&j->arena, int64_t, model->access_count);
    e->group_scope = TW_NEW_ARRAY(&j->arena, LLVMMetadataRef, 256);
    bool laid_out = tw_layout_make(model, &j->arena, &e->layout);
    if (!e->values || !e->offsets || !e->representative || !e->delta || !e->group_scope || !laid_out)
        return tw_fail_memory(j->error);
    j->arg_count = e->layout.count;
    set_types(e, j->context);
    tw_tree_varies(e->tree, e->varies);
    *out = e;
    return TW_OK;
}

static tw_status emit(job *j)
{
    tw_emitter *e = NULL;
    TW_TRY(make_emitter(j, &e));
    LLVMSetTarget(j->module, j->codegen->triple);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(j->machine);
    LLVMSetModuleDataLayout(j->module, data);
    LLVMDisposeTargetData(data);
    e->builder = LLVMCreateBuilderInContext(j->context);
    tw_status status = tw_gen_kernel(e);
    LLVMDisposeBuilder(e->builder);
    TW_TRY(status);
    j->reduces = e->lanes_lie_apart;
    add_attributes(j, e->function);
    char *message = NULL;
    if (LLVMVerifyModule(j->module, LLVMReturnStatusAction, &message))
        status = tw_fail(j->error, TW_INTERNAL, "the code generator made invalid LLVM IR: %.600s", message);
    LLVMDisposeMessage(message);
    return status;
}

static tw_status optimise(job *j)
{
    if (j->level == 0) return TW_OK;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(j->module, j->reduces ? reducing_passes : passes, j->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) return j->diagnosed;
    char *message = LLVMGetErrorMessage(failure);
    tw_fail(j->error, TW_INTERNAL, "LLVM's passes: %.600s", message);
    LLVMDisposeErrorMessage(message);
    return TW_INTERNAL;
}

/* A module with the kernel, optimised; what comes of it is `finish`'s business. */
static tw_status with_module(tw_codegen *c, const tw_tree *tree, unsigned level, tw_status (*finish)(job *j, void *context),
                             void *context, tw_error *error)
{
    job j = {.codegen = c, .tree = tree, .level = level, .machine = c->machines[level > 0], .error = error};
    tw_arena_init(&j.arena, (size_t)256 << 20);
    j.context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(j.context, take_diagnostic, &j);
    j.module = LLVMModuleCreateWithNameInContext("kernel", j.context);
    tw_status status = emit(&j);
    if (status == TW_OK) status = optimise(&j);
    if (status == TW_OK) status = finish(&j, context);
    if (status == TW_OK) status = j.diagnosed;
    LLVMDisposeModule(j.module);
    LLVMContextDispose(j.context);
    tw_arena_free(&j.arena);
    return status;
}

static tw_status make_file(job *j, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out)
{
    char *message = NULL;
    if (!LLVMTargetMachineEmitToMemoryBuffer(j->machine, j->module, type, &message, out)) return TW_OK;
    tw_fail(j->error, TW_INTERNAL, "LLVM's code generator: %.600s", message);
    LLVMDisposeMessage(message);
    return TW_INTERNAL;
}

typedef struct product {
    tw_kernel_info *info;
    tw_bytes *code;
} product;

static uint32_t widest_lanes(const tw_tree *tree)
{
    uint32_t lanes = 1;
    for (uint32_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i].lanes > lanes) lanes = tree->nodes[i].lanes;
    return lanes;
}

static tw_status finish_kernel(job *j, void *context)
{
    product *p = context;
    LLVMMemoryBufferRef buffer;
    TW_TRY(make_file(j, LLVMObjectFile, &buffer));
    uint32_t entry = 0;
    tw_status status = tw_flatten((const uint8_t *)LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), "tw_kernel", p->code,
                                  &entry, j->error);
    LLVMDisposeMemoryBuffer(buffer);
    TW_TRY(status);
    const tw_tree *tree = j->tree;
    *p->info = (tw_kernel_info){.abi = TW_KERNEL_ABI, .entry = entry, .code_size = (uint32_t)p->code->size,
                                .arg_count = j->arg_count, .output_count = tree->model->output_count,
                                .outer_parallel = tree->outer_parallel, .shares_work = tree->shares_work,
                                .lanes = (uint8_t)widest_lanes(tree), .grain = (uint8_t)tree->grain};
    tw_tree_summary(tree, p->info->schedule, sizeof p->info->schedule);
    return TW_OK;
}

tw_status tw_codegen_compile(tw_codegen *c, const tw_tree *tree, unsigned level, tw_kernel_info *info, tw_bytes *code,
                             tw_error *error)
{
    product p = {info, code};
    return with_module(c, tree, level, finish_kernel, &p, error);
}

static tw_status finish_llvm(job *j, void *context)
{
    char *text = LLVMPrintModuleToString(j->module);
    tw_bytes_append_string(context, text);
    LLVMDisposeMessage(text);
    return TW_OK;
}

static tw_status finish_asm(job *j, void *context)
{
    LLVMMemoryBufferRef buffer;
    TW_TRY(make_file(j, LLVMAssemblyFile, &buffer));
    tw_bytes_append(context, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return TW_OK;
}

tw_status tw_codegen_dump(tw_codegen *c, const tw_tree *tree, unsigned level, const char *what, tw_bytes *out,
                          tw_error *error)
{
    bool llvm = strcmp(what, "llvm") == 0;
    if (!llvm && strcmp(what, "asm")) return tw_fail(error, TW_INVALID, "there is no dump called %s", what);
    TW_TRY(with_module(c, tree, level, llvm ? finish_llvm : finish_asm, out, error));
    return out->failed ? tw_fail_memory(error) : TW_OK;
}
