/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

static const cli_command *const commands[] = {
    &cli_run,
    &cli_validate,
    &cli_inspect,
    &cli_bench,
    &cli_snapshot_save,
    &cli_snapshot_restore,
    &cli_snapshot_inspect,
    &cli_snapshot_verify,
    &cli_snapshot_convert,
    &cli_snapshot_diff,
    &cli_snapshot_export,
    &cli_devices,
    &cli_doctor,
    &cli_help,
    &cli_generate,
    &cli_finish_kernels,
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

const cli_command *cli_command_at(size_t index)
{
    return index < COMMAND_COUNT ? commands[index] : NULL;
}

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

const char *cli_word_in_group(const cli_command *command, const char *group)
{
    const char *space = strchr(command->name, ' ');
    if (!group) return space ? NULL : command->name;
    size_t size = strlen(group);
    bool belongs = space && (size_t)(space - command->name) == size && !memcmp(command->name, group, size);
    return belongs ? space + 1 : NULL;
}

const cli_command *cli_command_in_group(const char *group, const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *own = cli_word_in_group(commands[i], group);
        if (own && !strcmp(own, word)) return commands[i];
    }
    return NULL;
}

bool cli_is_group(const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (cli_word_in_group(commands[i], word)) return true;
    return false;
}
