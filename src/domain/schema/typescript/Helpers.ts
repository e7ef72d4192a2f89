import { quoted } from "./Text.ts"

/** The source of a helper type that selects by a name in the default schema, or by schema and name. */
const picker = (name: string, entries: string, picked: (entry: string) => string) => `export type ${name}<
  NameOrSchema extends keyof ${entries.replaceAll("$", "DefaultSchema")} | { schema: keyof Schemas },
  Name extends NameOrSchema extends { schema: keyof Schemas }
    ? keyof ${entries.replaceAll("$", `Schemas[NameOrSchema["schema"]]`)}
    : never = never
> = NameOrSchema extends { schema: keyof Schemas }
  ? ${picked(`${entries.replaceAll("$", `Schemas[NameOrSchema["schema"]]`)}[Name]`)}
  : NameOrSchema extends keyof ${entries.replaceAll("$", "DefaultSchema")}
    ? ${picked(`${entries.replaceAll("$", "DefaultSchema")}[NameOrSchema]`)}
    : never
`

const partOf = (part: string) => (entry: string) => `(${entry} extends { ${part}: infer Part } ? Part : never)`

/** `Tables<"notes">`, `TablesInsert<{ schema: "other" }, "notes">` and similar. */
export const typeScriptHelpers = (defaultSchema: string) =>
  [
    `type Schemas = Omit<Database, "__InternalSupabase">\n`,
    `type DefaultSchema = Schemas[${quoted(defaultSchema)}]\n`,
    picker("Tables", `($["Tables"] & $["Views"])`, partOf("Row")),
    picker("TablesInsert", `($["Tables"] & $["Views"])`, partOf("Insert")),
    picker("TablesUpdate", `($["Tables"] & $["Views"])`, partOf("Update")),
    picker("Enums", `$["Enums"]`, (entry) => entry),
    picker("CompositeTypes", `$["CompositeTypes"]`, (entry) => entry)
  ].join("\n")
