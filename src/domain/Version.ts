declare const builtCommit: string | undefined

/**
 * The version of this source: that of package.json. Versions of one minor version share databases and data directories, in
 * both directions (docs/operations.md#upgrades): their migrations only add, and the format of the index of objects is the
 * same. `npm run release` refuses anything else.
 */
export const version = "0.1.1"

/** The commit that the running file was built from, with `-dirty` if its sources differ from it; `unknown` in sources. */
export const commit: string = typeof builtCommit === "undefined" ? "unknown" : builtCommit
