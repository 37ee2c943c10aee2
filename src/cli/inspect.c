/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/suggest.h"
#include "tensorwasm/tensorwasm.h"

typedef struct settings {
    const char *explain;
    int dump;
    bool json;
} settings;

enum { NO_DUMP = -1 };
static const settings defaults = {.dump = NO_DUMP};
static const char *const dumps[] = {"ir", "model", "plan", "schedule", "llvm"};

static int explain(const settings *s)
{
    const char *meaning = tw_refusal_explain(s->explain);
    if (!meaning) {
        cli_suggestion near;
        cli_suggestion_init(&near, s->explain);
        const char *name;
        for (size_t i = 0; (name = tw_refusal_listed(i)); i++) cli_suggestion_offer(&near, name);
        return cli_usage_error(s->json, "inspect", "no refusal is called '%s'%s%s%s", s->explain,
                               near.best ? "; did you mean '" : "; 'inspect --explain all' lists them",
                               near.best ? near.best : "", near.best ? "'?" : "");
    }
    if (s->json) cli_print_json(json_pack("{s:s, s:s}", "refusal", s->explain, "meaning", meaning));
    else printf("%s: %s\n", s->explain, meaning);
    return CLI_EXIT_DONE;
}

static int explain_all(const settings *s)
{
    json_t *list = json_object();
    const char *name;
    for (size_t i = 0; (name = tw_refusal_listed(i)); i++) {
        const char *meaning = tw_refusal_explain(name);
        json_object_set_new(list, name, json_string(meaning ? meaning : ""));
        if (!s->json) printf("%s\n    %s\n", name, meaning ? meaning : "");
    }
    if (s->json) cli_print_json(list);
    else json_decref(list);
    return CLI_EXIT_DONE;
}

/* Adds the nearest of the module's loops to the message about a region that isn't there. */
static void suggest_region(const tw_module *module, const char *region, tw_error *error)
{
    char *text;
    if (tw_module_inspect(module, TW_FORMAT_JSON, &text, NULL)) return;
    json_t *root = json_loads(text, 0, NULL), *loop;
    cli_suggestion near;
    cli_suggestion_init(&near, region);
    size_t i;
    json_array_foreach(json_object_get(root, "loops"), i, loop)
    {
        const char *name = json_string_value(json_object_get(loop, "name"));
        if (name) cli_suggestion_offer(&near, name);
    }
    size_t used = strlen(error->message);
    if (near.best) snprintf(error->message + used, sizeof error->message - used, "; did you mean '%s'?", near.best);
    json_decref(root);
    free(text);
}

static tw_status dump(const settings *s, const tw_module *module, const char *region, char **text, tw_error *error)
{
    tw_status status = tw_module_dump(module, dumps[s->dump], region, text, error);
    if (status == TW_NOT_FOUND) suggest_region(module, region, error);
    return status;
}

static tw_status look(const settings *s, const tw_module *module, const char *region, char **text, tw_error *error)
{
    if (s->dump != NO_DUMP) return dump(s, module, region, text, error);
    return tw_module_inspect(module, s->json ? TW_FORMAT_JSON : TW_FORMAT_TEXT, text, error);
}

static tw_status inspect(const settings *s, const cli_operands *operands, char **text, tw_error *error)
{
    uint8_t *bytes;
    size_t size;
    tw_engine *engine = NULL;
    tw_module *module = NULL;
    tw_engine_options options = TW_ENGINE_OPTIONS_INIT;
    options.offload = TW_OFFLOAD_FORCE;
    tw_status status = cli_read_module(operands->items[0], &bytes, &size, error);
    if (status) return status;
    status = tw_engine_new(&options, &engine, error);
    if (!status) status = tw_module_new(engine, bytes, size, &module, error);
    if (!status) status = look(s, module, operands->count > 1 ? operands->items[1] : NULL, text, error);
    tw_module_free(module);
    tw_engine_free(engine);
    free(bytes);
    return status;
}

/* A dump is text; for --json it is wrapped. */
static void print(const settings *s, const cli_operands *operands, const char *text)
{
    if (s->json && s->dump != NO_DUMP)
        cli_print_json(json_pack("{s:s, s:o, s:o}", "dump", dumps[s->dump], "region", cli_json_text(operands->items[1]),
                                 "text", cli_json_text(text)));
    else fputs(text, stdout);
}

static int run(const void *given, const cli_operands *operands)
{
    const settings *s = given;
    char *text;
    tw_error error;
    if (s->explain) return strcmp(s->explain, "all") ? explain(s) : explain_all(s);
    if (!operands->count) return cli_usage_error(s->json, "inspect", "name a module, or a refusal with --explain");
    if (s->dump != NO_DUMP && operands->count < 2)
        return cli_usage_error(s->json, "inspect",
                               "--dump=%s needs the name of a region behind the module; "
                               "'%s inspect %s' lists them",
                               dumps[s->dump], CLI_PROGRAM, operands->items[0]);
    if (s->dump == NO_DUMP && operands->count > 1)
        return cli_usage_error(s->json, "inspect", "'%s': a region is only named with --dump", operands->items[1]);
    if (inspect(s, operands, &text, &error)) return cli_failure(s->json, operands->items[0], &error);
    print(s, operands, text);
    free(text);
    return CLI_EXIT_DONE;
}

static const cli_option options[] = {
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON, errors too", CLI_HINT_NONE},
    {CLI_TEXT, 0, "explain", "REFUSAL", offsetof(settings, explain),
     "tells what a refusal means and what to change in the program; 'all' lists every one", CLI_HINT_NONE},
    {CLI_CHOICE, 0, "dump", "ir|model|plan|schedule|llvm", offsetof(settings, dump),
     "prints one stage of the region named behind MODULE", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm inspect gemm.wasm",
     "lists every loop: name, place, depth, trip count, and its model or why it is refused"},
    {"tensor-wasm inspect --json gemm.wasm", "the same for scripts"},
    {"tensor-wasm inspect --explain may-trap", "tells what that refusal means and what to change"},
    {"tensor-wasm inspect --dump=model gemm.wasm gemm#0", "prints the model of one region"},
};

const cli_command cli_inspect = {
    .name = "inspect",
    .operands = "MODULE [REGION]",
    .summary = "tells of every loop whether it can be offloaded, or why not",
    .text = "MODULE is a .wasm or a .wat file, or - for stdin. Nothing of it is run.\n"
            "A loop has a name that survives rebuilds: its function and its number in it. --dump takes such a name.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .max_operands = 2,
    .run = run,
};
