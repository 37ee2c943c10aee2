/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/invoke.h"

#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/suggest.h"
#include "cli/value.h"

static bool exports_function(const tw_module *module, const char *wanted)
{
    size_t count = tw_module_export_count(module);
    for (size_t i = 0; i < count; i++) {
        const char *name;
        tw_extern kind;
        if (!tw_module_export(module, i, &name, &kind) && kind == TW_EXPORT_FUNC && !strcmp(name, wanted)) return true;
    }
    return false;
}

/* "add, mul, ..." into text; false when the module exports no function. */
static bool list_functions(const tw_module *module, char *text, size_t room)
{
    size_t count = tw_module_export_count(module), used = 0, listed = 0;
    text[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name;
        tw_extern kind;
        if (tw_module_export(module, i, &name, &kind) || kind != TW_EXPORT_FUNC) continue;
        if (listed == 8 || strlen(name) > 64 || used + strlen(name) + 8 > room) {
            snprintf(text + used, room - used, "%s...", listed ? ", " : "");
            return true;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", listed++ ? ", " : "", name);
    }
    return listed > 0;
}

static int unknown_function(const cli_invocation *v, const tw_module *module, const char *name)
{
    char functions[256];
    cli_suggestion near;
    cli_suggestion_init(&near, name);
    size_t count = tw_module_export_count(module);
    for (size_t i = 0; i < count; i++) {
        const char *other;
        tw_extern kind;
        if (!tw_module_export(module, i, &other, &kind) && kind == TW_EXPORT_FUNC) cli_suggestion_offer(&near, other);
    }
    if (near.best)
        return cli_usage_error(false, v->command, "--invoke: the module exports no function '%s'; did you mean '%s'?", name,
                               near.best);
    if (list_functions(module, functions, sizeof functions))
        return cli_usage_error(false, v->command, "--invoke: the module exports no function '%s'; it exports %s", name,
                               functions);
    return cli_usage_error(false, v->command, "--invoke: the module exports no function '%s', nor any other", name);
}

/* "(i32, i64) -> f64" */
static void write_signature(char *text, size_t room, const tw_val_kind *params, size_t param_count,
                            const tw_val_kind *results, size_t result_count)
{
    size_t used = (size_t)snprintf(text, room, "(");
    for (size_t i = 0; i < param_count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", cli_val_kind_name(params[i]));
    if (used < room) used += (size_t)snprintf(text + used, room - used, ")%s", result_count ? " -> " : "");
    for (size_t i = 0; i < result_count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", cli_val_kind_name(results[i]));
}

/* A program and an initialiser are called with nothing, and give nothing. */
static bool is_plain(const tw_module *module, const char *name, tw_error *error)
{
    const tw_val_kind *params, *results;
    size_t param_count, result_count;
    char signature[256];
    if (tw_module_func_type(module, name, &params, &param_count, &results, &result_count, error)) return false;
    if (!param_count && !result_count) return true;
    write_signature(signature, sizeof signature, params, param_count, results, result_count);
    *error = (tw_error){.status = TW_INVALID, .function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    snprintf(error->message, sizeof error->message, "exports %s%s, which should take no arguments and give no results", name,
             signature);
    return false;
}

static int type_arguments(cli_invocation *v, const tw_val_kind *params, char **texts)
{
    for (size_t i = 0; i < v->arg_count; i++)
        if (!cli_val_parse(params[i], texts[i], &v->args[i]))
            return cli_usage_error(false, v->command, "argument %zu of %s: '%s' is not of type %s: give %s", i + 1, v->name,
                                   texts[i], cli_val_kind_name(params[i]), cli_val_shape(params[i]));
    return CLI_EXIT_DONE;
}

static int prepare_function(cli_invocation *v, const tw_module *module, char **texts, size_t text_count)
{
    const tw_val_kind *params, *results;
    tw_error error;
    if (tw_module_func_type(module, v->name, &params, &v->arg_count, &results, &v->result_count, &error))
        return cli_failure(false, v->name, &error);
    if (v->prints && text_count != v->arg_count) {
        char signature[256];
        write_signature(signature, sizeof signature, params, v->arg_count, results, v->result_count);
        return cli_usage_error(false, v->command, "%s%s takes %zu argument%s; %zu %s given", v->name, signature,
                               v->arg_count, v->arg_count == 1 ? "" : "s", text_count,
                               text_count == 1 ? "was" : "were");
    }
    v->args = calloc(v->arg_count + 1, sizeof *v->args);
    v->results = calloc(v->result_count + 1, sizeof *v->results);
    if (!v->args || !v->results) {
        cli_say("out of memory");
        return CLI_EXIT_FAILURE;
    }
    return v->prints ? type_arguments(v, params, texts) : CLI_EXIT_DONE;
}

/* Nothing was named and there is no program: say what could be. */
static void prepare_nothing(cli_invocation *v, const tw_module *module)
{
    char functions[256];
    if (!v->initialize && list_functions(module, functions, sizeof functions))
        snprintf(v->hint, sizeof v->hint,
                 "has no _start, so nothing is called; --invoke NAME calls one of its functions: %s", functions);
}

int cli_invocation_prepare(cli_invocation *v, const tw_module *module, const char *invoke, const cli_operands *operands)
{
    bool program = exports_function(module, "_start");
    *v = (cli_invocation){.command = v->command, .name = invoke ? invoke : program ? "_start" : NULL, .prints = invoke != NULL};
    v->initialize = exports_function(module, "_initialize") && !(invoke && !strcmp(invoke, "_initialize"));
    tw_error error;
    if (v->initialize && !is_plain(module, "_initialize", &error)) return cli_failure(false, operands->items[0], &error);
    if (program && !invoke && !is_plain(module, "_start", &error)) return cli_failure(false, operands->items[0], &error);
    if (!v->name) {
        prepare_nothing(v, module);
        return CLI_EXIT_DONE;
    }
    if (!exports_function(module, v->name)) return unknown_function(v, module, v->name);
    return prepare_function(v, module, operands->items + 1, operands->count - 1);
}

static bool takes_nothing(const tw_module *module, const char *export)
{
    const tw_val_kind *params, *results;
    size_t param_count, result_count;
    return !tw_module_func_type(module, export, &params, &param_count, &results, &result_count, NULL) && !param_count &&
           !result_count;
}

int cli_invocation_insert(cli_invocation *v, const tw_module *module, const char *export)
{
    if ((v->name && !strcmp(v->name, export)) || (v->initialize && !strcmp(export, "_initialize"))) return CLI_EXIT_DONE;
    if (!exports_function(module, export))
        return cli_usage_error(false, v->command, "--snapshot-after: the module exports no function '%s'", export);
    if (!takes_nothing(module, export))
        return cli_usage_error(false, v->command, "--snapshot-after: %s has parameters or results: name it with --invoke, too", export);
    v->before = export;
    v->hint[0] = 0;
    return CLI_EXIT_DONE;
}

static tw_status call(tw_instance *instance, const char *name, const tw_val *args, size_t arg_count, tw_val *results,
                      size_t result_count, const cli_invocation_watcher *watcher, tw_error *error)
{
    tw_status status = tw_instance_call(instance, name, args, arg_count, results, result_count, error);
    bool well = status == TW_OK || (status == TW_EXIT && tw_instance_exit_code(instance) == 0);
    if (!well || !watcher->returned) return status;
    tw_error own;
    tw_status told = watcher->returned(watcher->context, name, &own);
    if (told) *error = own;
    return told ? told : status;
}

tw_status cli_invocation_call(cli_invocation *v, tw_instance *instance, const cli_invocation_watcher *watcher, tw_error *error)
{
    tw_status status = TW_OK;
    if (v->initialize) status = call(instance, "_initialize", NULL, 0, NULL, 0, watcher, error);
    if (!status && v->before) status = call(instance, v->before, NULL, 0, NULL, 0, watcher, error);
    if (status || !v->name) return status;
    return call(instance, v->name, v->args, v->arg_count, v->results, v->result_count, watcher, error);
}

void cli_invocation_print(const cli_invocation *v, FILE *out)
{
    for (size_t i = 0; v->prints && i < v->result_count; i++) {
        cli_val_print(out, &v->results[i]);
        fputc('\n', out);
    }
}

void cli_invocation_free(cli_invocation *v)
{
    free(v->args);
    free(v->results);
    v->args = v->results = NULL;
}
