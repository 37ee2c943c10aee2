/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CONVERT_H
#define TW_CLI_CONVERT_H

#include "tensorwasm/snapshot.h"

typedef struct cli_conversion {
    tw_snapshot_format format;
    const char *hmac_key, *ed25519_secret, *aead_key; /* files; NULL = none */
} cli_conversion;

/* Writes the state of a snapshot as another file, all or nothing. */
tw_status cli_convert(const cli_conversion *how, const tw_snapshot *from, const char *path, tw_error *error);
/* What `from` had and the new file hasn't: "its signature", "its encryption", both or "". Static. */
const char *cli_convert_lost(const cli_conversion *how, const tw_snapshot *from);

#endif
