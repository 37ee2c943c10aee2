/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

static const cli_command *const commands[] = {
    &cli_run,    &cli_validate, &cli_inspect,  &cli_snapshot,
    &cli_devices, &cli_doctor,  &cli_help,     &cli_generate, &cli_finish_kernels,
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
