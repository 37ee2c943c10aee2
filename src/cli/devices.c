/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/message.h"
#include "tensorwasm/buffer.h"

typedef struct settings {
    bool json;
} settings;

static const settings defaults = {false};

typedef const char *(*name_of)(unsigned index);

static const char *backend_at(unsigned index)
{
    return index < TW_BACKENDS ? tw_backend_name((tw_backend)index) : NULL;
}

static const char *ability_at(unsigned index)
{
    return index < TW_CAN_COUNT ? tw_can_name(index) : NULL;
}

/* ---- JSON ---- */

static json_t *json_names(uint32_t bits, name_of name)
{
    json_t *names = json_array();
    for (unsigned i = 0; name(i); i++)
        if (bits >> i & 1) json_array_append_new(names, json_string(name(i)));
    return names;
}

static json_t *json_device(const tw_device_info *d)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:I, s:I, s:o, s:o}", "kind", tw_device_kind_name(d->kind), "index",
                     (int)d->index, "name", cli_json_text(d->name), "driver", cli_json_text(d->driver), "version",
                     *d->version ? cli_json_text(d->version) : json_null(), "memory_bytes", (json_int_t)d->memory,
                     "compute_units", (json_int_t)d->compute_units, "backends", json_names(d->backends, backend_at),
                     "can", json_names(d->can, ability_at));
}

static json_t *json_backend(tw_backend backend, const char *missing)
{
    return json_pack("{s:s, s:b, s:o}", "name", tw_backend_name(backend), "available", !missing, "why",
                     missing ? cli_json_text(missing) : json_null());
}

static void print_json(tw_devices *devices)
{
    json_t *found = json_array(), *backends = json_array();
    const tw_device_info *d;
    for (size_t i = 0; (d = tw_devices_at(devices, i)); i++) json_array_append_new(found, json_device(d));
    for (unsigned b = 0; b < TW_BACKENDS; b++)
        json_array_append_new(backends, json_backend((tw_backend)b, tw_devices_missing(devices, (tw_backend)b)));
    cli_print_json(json_pack("{s:o, s:o}", "devices", found, "backends", backends));
}

/* ---- text ---- */

static void print_names(const char *label, uint32_t bits, name_of name)
{
    const char *between = "";
    if (!bits) return;
    printf("  %-14s ", label);
    for (unsigned i = 0; name(i); i++) {
        if (!(bits >> i & 1)) continue;
        printf("%s%s", between, name(i));
        between = ", ";
    }
    printf("\n");
}

static void print_device(const tw_device_info *d)
{
    printf("%s %" PRIu32 ": %s\n", tw_device_kind_name(d->kind), d->index, d->name);
    printf("  driver         %s\n", d->driver);
    if (*d->version) printf("  version        %s\n", d->version);
    printf("  memory         %" PRIu64 " bytes\n", d->memory);
    printf("  compute units  %" PRIu32 "\n", d->compute_units);
    print_names("backends", d->backends, backend_at);
    print_names("can", d->can, ability_at);
}

static void print_text(tw_devices *devices)
{
    const tw_device_info *d;
    for (size_t i = 0; (d = tw_devices_at(devices, i)); i++) print_device(d);
    for (unsigned b = 0; b < TW_BACKENDS; b++) {
        const char *why = tw_devices_missing(devices, (tw_backend)b);
        if (why) printf("%s: not available: %s\n", tw_backend_name((tw_backend)b), why);
    }
}

/* ---- the command ---- */

static int run(const void *given, const cli_operands *operands)
{
    (void)operands;
    const settings *s = given;
    tw_devices *devices;
    tw_error error;
    if (tw_devices_open(NULL, &devices, &error)) return cli_failure(s->json, NULL, &error);
    if (s->json) print_json(devices);
    else print_text(devices);
    tw_devices_close(devices);
    return CLI_EXIT_DONE;
}

static const cli_option options[] = {
    {CLI_FLAG, 0, "json", NULL, offsetof(settings, json), "prints JSON", CLI_HINT_NONE},
};

static const cli_example examples[] = {
    {"tensor-wasm devices", "lists what is here with what it can do, and why the rest isn't"},
    {"tensor-wasm devices --json", "the same for scripts"},
};

const cli_command cli_devices = {
    .name = "devices",
    .operands = "",
    .summary = "lists devices that buffers can be shared with",
    .text =
        "Looks for NVIDIA's driver (libcuda.so.1) and for OpenCL (libOpenCL.so.1), and lists their devices behind the host itself: "
        "driver, memory, compute units, the kinds of buffer it has (backends), and what it can do.\n"
        "A backend that no device has is listed with the reason. That something is missing is no failure.",
    .options = options,
    .option_count = CLI_LENGTH(options),
    .examples = examples,
    .example_count = CLI_LENGTH(examples),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .run = run,
};
