import { nameProblem, qualifiedName, quoteName, textLiteral, writtenSql } from "../names.ts"

export const timings = ["before", "after", "instead of"] as const
export const events = ["insert", "update", "delete", "truncate"] as const
type TriggerEvent = (typeof events)[number]

export interface TriggerDraft {
  readonly schema: string
  /** The table, or the view. */
  readonly table: string
  readonly name: string
  readonly timing: (typeof timings)[number]
  readonly events: ReadonlyArray<TriggerEvent>
  /** Columns whose update fires it; none: any. */
  readonly columns: ReadonlyArray<string>
  readonly each: "row" | "statement"
  /** A condition in SQL; "": always. */
  readonly when: string
  readonly function: { readonly schema: string; readonly name: string } | undefined
  /** Texts that the function gets. */
  readonly arguments: ReadonlyArray<string>
}

export const triggerProblems = (draft: TriggerDraft): ReadonlyArray<string> => [
  ...[nameProblem(draft.name, "The trigger") ?? []].flat(),
  ...(draft.events.length === 0 ? ["No event fires the trigger"] : []),
  ...(draft.events.includes("truncate") && draft.each === "row" ? ["TRUNCATE fires once for a statement only"] : []),
  ...(draft.timing === "instead of" && draft.each === "statement" ? ["INSTEAD OF is for each row"] : []),
  ...(draft.timing === "instead of" && (draft.when.trim() !== "" || draft.columns.length > 0)
    ? ["INSTEAD OF has neither a condition nor columns"]
    : []),
  ...(draft.function === undefined ? ["No function is chosen"] : [])
]

const eventSql = (event: TriggerEvent, columns: ReadonlyArray<string>) =>
  event === "update" && columns.length > 0 ? `update of ${columns.map(quoteName).join(", ")}` : event

export const createTriggerSql = (draft: TriggerDraft): string => {
  // In one order, whatever the order in which they were chosen.
  const chosen = events.filter((event) => draft.events.includes(event))
  return [
    `create trigger ${quoteName(draft.name)}`,
    `  ${draft.timing} ${chosen.map((event) => eventSql(event, draft.columns)).join(" or ")}`,
    `  on ${qualifiedName({ schema: draft.schema, name: draft.table })}`,
    `  for each ${draft.each}`,
    ...(draft.when.trim() === "" ? [] : [`  when (${writtenSql(draft.when)})`]),
    `  execute function ${draft.function === undefined ? "" : qualifiedName(draft.function)}(${draft.arguments.map(textLiteral).join(", ")})`
  ].join("\n")
}

interface TriggerName {
  readonly schema: string
  readonly table: string
  readonly name: string
}

export const dropTriggerSql = ({ name, schema, table }: TriggerName) =>
  `drop trigger ${quoteName(name)} on ${qualifiedName({ schema, name: table })}`
