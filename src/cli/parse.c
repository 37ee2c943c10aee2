/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "cli/message.h"
#include "cli/suggest.h"
#include "cli/units.h"

/* One command line on its way into settings. */
typedef struct parser {
    const cli_command *command;
    char **args;
    size_t count, next;
    char *settings;
    cli_operands operands;
    bool json, help;
} parser;

int cli_choice_index(const char *words, const char *word)
{
    size_t size = strlen(word);
    for (int index = 0;; index++) {
        size_t length = strcspn(words, "|");
        if (length == size && !memcmp(words, word, size)) return index;
        if (!words[length]) return -1;
        words += length + 1;
    }
}

/* Usage errors are JSON as soon as anything before the operands of the guest says --json. */
static bool asks_for_json(const cli_command *command, char **args, size_t count)
{
    if (command->rest_is_guests) return false;
    for (size_t i = 0; i < count && strcmp(args[i], "--"); i++)
        if (!strcmp(args[i], "--json")) return true;
    return false;
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t size)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (option->kind != CLI_HEADING && strlen(option->name) == size && !memcmp(option->name, name, size))
            return option;
    }
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter) return &command->options[i];
    return NULL;
}

static int unknown_option(const parser *p, const char *name, size_t size)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(size < sizeof word ? size : sizeof word - 1), name);
    cli_suggestion near;
    cli_suggestion_init(&near, word);
    for (size_t i = 0; i < p->command->option_count; i++)
        if (p->command->options[i].kind != CLI_HEADING) cli_suggestion_offer(&near, p->command->options[i].name);
    cli_suggestion_offer(&near, "help");
    if (near.best)
        return cli_usage_error(p->json, p->command->name, "unknown option '--%s'; did you mean '--%s'?", word,
                               near.best);
    return cli_usage_error(p->json, p->command->name, "unknown option '--%s'", word);
}

/* What a value of this kind looks like, for the message about one that doesn't. */
static const char *shape(const cli_option *option)
{
    switch (option->kind) {
    case CLI_COUNT:
    case CLI_NUMBER: return "a number, like 4";
    case CLI_SIZE: return "a size, like 65536, 64KiB, 256MiB or 4GiB";
    case CLI_DURATION: return "a time with its unit, like 500ms, 2s or 1m, and more than 0";
    case CLI_CHOICE: return option->value;
    default: break;
    }
    return option->hint == CLI_HINT_FOLDER ? "a folder" : option->hint == CLI_HINT_FILE ? "a file" : "a value";
}

static bool append(cli_list *list, const char *item)
{
    const char **grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown) return false;
    grown[list->count++] = item;
    list->items = grown;
    return true;
}

static bool store(void *field, const cli_option *option, const char *value)
{
    switch (option->kind) {
    case CLI_FLAG: *(bool *)field = true; return true;
    case CLI_TEXT: *(const char **)field = value; return *value || option->hint == CLI_HINT_NONE;
    case CLI_LIST: return append(field, value);
    case CLI_COUNT: return cli_parse_count(value, field);
    case CLI_NUMBER: return cli_parse_number(value, field);
    case CLI_SIZE: return cli_parse_size(value, field);
    case CLI_DURATION: return cli_parse_duration(value, field) && *(uint64_t *)field > 0;
    case CLI_CHOICE: {
        int index = cli_choice_index(option->value, value);
        if (index >= 0) *(int *)field = index;
        return index >= 0;
    }
    case CLI_HEADING: break;
    }
    return false;
}

/* attached: what stood behind the '=', or NULL. */
static int take_option(parser *p, const cli_option *option, const char *attached)
{
    const char *value = attached;
    if (option->kind == CLI_FLAG && attached)
        return cli_usage_error(p->json, p->command->name, "--%s takes no value", option->name);
    if (option->kind != CLI_FLAG && !attached) {
        if (p->next == p->count)
            return cli_usage_error(p->json, p->command->name, "--%s needs %s", option->name, shape(option));
        value = p->args[p->next++];
    }
    if (!store(p->settings + option->field, option, value))
        return cli_usage_error(p->json, p->command->name, "--%s: '%s' is not %s%s", option->name, value,
                               option->kind == CLI_CHOICE ? "one of " : "", shape(option));
    return CLI_EXIT_DONE;
}

static int take_long(parser *p, const char *name)
{
    size_t size = strcspn(name, "=");
    const char *attached = name[size] ? name + size + 1 : NULL;
    const cli_option *option = find_option(p->command, name, size);
    if (option) return take_option(p, option, attached);
    if (size == 4 && !memcmp(name, "help", 4) && !attached) {
        p->help = true;
        return CLI_EXIT_DONE;
    }
    return unknown_option(p, name, size);
}

/* -q, -v, and several together: -qv. */
static int take_letters(parser *p, const char *letters)
{
    for (; *letters; letters++) {
        const cli_option *option = find_letter(p->command, *letters);
        if (*letters == 'h') p->help = true;
        else if (!option) return cli_usage_error(p->json, p->command->name, "unknown option '-%c'", *letters);
        else if (take_option(p, option, NULL)) return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_DONE;
}

/* Of a command that takes numbers: a dash that can't begin an option. */
static bool is_number(const char *arg)
{
    return strspn(arg + 1, "0123456789.") > 0 || !strncmp(arg, "-inf", 4) || !strncmp(arg, "-nan", 4);
}

static int take_all(parser *p)
{
    bool options = true;
    while (p->next < p->count && !p->help) {
        char *arg = p->args[p->next++];
        int code = CLI_EXIT_DONE;
        if (!options || arg[0] != '-' || !arg[1] || (p->command->takes_numbers && is_number(arg))) {
            p->operands.items[p->operands.count++] = arg;
            if (p->command->rest_is_guests) options = false;
        } else if (!strcmp(arg, "--")) {
            options = false;
        } else {
            code = arg[1] == '-' ? take_long(p, arg + 2) : take_letters(p, arg + 1);
        }
        if (code) return code;
    }
    return CLI_EXIT_DONE;
}

static int usage_of(const parser *p, const char *subject, const char *problem)
{
    const cli_command *command = p->command;
    return cli_usage_error(p->json, command->name, "%s%s: usage is '%s %s [options]%s%s'", subject, problem,
                           CLI_PROGRAM, command->name, *command->operands ? " " : "", command->operands);
}

static int check_and_run(parser *p)
{
    const cli_command *command = p->command;
    if (p->help) {
        cli_print_help(stdout, command);
        return CLI_EXIT_DONE;
    }
    if (p->operands.count < command->min_operands) return usage_of(p, "nothing to work on", "");
    if (p->operands.count > command->max_operands)
        return usage_of(p, p->operands.items[command->max_operands], " is one argument too many");
    return command->run(p->settings, &p->operands);
}

static void free_lists(const parser *p)
{
    for (size_t i = 0; i < p->command->option_count; i++)
        if (p->command->options[i].kind == CLI_LIST)
            free(((cli_list *)(void *)(p->settings + p->command->options[i].field))->items);
}

int cli_parse_and_run(const cli_command *command, char **args, size_t count)
{
    parser p = {.command = command, .args = args, .count = count, .json = asks_for_json(command, args, count)};
    p.settings = calloc(1, command->settings_size + 1);
    p.operands.items = calloc(count + 1, sizeof *p.operands.items);
    int code = CLI_EXIT_FAILURE;
    if (p.settings && p.operands.items) {
        if (command->settings_size) memcpy(p.settings, command->defaults, command->settings_size);
        code = take_all(&p);
        if (!code) code = check_and_run(&p);
        free_lists(&p);
    } else {
        cli_say("out of memory");
    }
    free(p.settings);
    free(p.operands.items);
    return code;
}
