import { quoteName, textLiteral } from "../names.ts"

export interface ExtensionChoice {
  readonly name: string
  /** Undefined: the extension has one of its own. */
  readonly schema: string | undefined
  /** Undefined: the default one. */
  readonly version: string | undefined
}

/** With the extensions that it needs. */
export const createExtensionSql = ({ name, schema, version }: ExtensionChoice) =>
  [
    `create extension ${quoteName(name)}`,
    ...(schema === undefined ? [] : [`schema ${quoteName(schema)}`]),
    ...(version === undefined ? [] : [`version ${textLiteral(version)}`]),
    "cascade"
  ].join(" ")

export const updateExtensionSql = (name: string, version: string) =>
  `alter extension ${quoteName(name)} update to ${textLiteral(version)}`

export const dropExtensionSql = (name: string, cascade: boolean) =>
  `drop extension ${quoteName(name)}${cascade ? " cascade" : ""}`
