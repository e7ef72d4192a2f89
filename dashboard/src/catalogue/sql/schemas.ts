import { quoteName, textLiteral } from "../names.ts"

/** The statements that make a schema. An empty `comment` sets none. */
export const createSchemaSql = (name: string, comment: string): ReadonlyArray<string> => [
  `create schema ${quoteName(name)}`,
  ...(comment === "" ? [] : [`comment on schema ${quoteName(name)} is ${textLiteral(comment)}`])
]

export const dropSchemaSql = (name: string, cascade: boolean) =>
  `drop schema ${quoteName(name)}${cascade ? " cascade" : ""}`
