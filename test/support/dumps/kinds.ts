const place = process.env["SVC_TEST_PG_BIN"]

/** Settings of a service for each available tool. */
export const dumpKinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "what is found": {},
  ...(place === undefined ? {} : { "the programs of SVC_TEST_PG_BIN": { PG_BIN_DIR: place } })
}
