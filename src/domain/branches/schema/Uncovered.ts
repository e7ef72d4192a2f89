import { Option, Schema } from "effect"
import { type SchemaWarning } from "./SchemaDifference.ts"
import { columnOrder, extensionVersion } from "./UncoveredSql.ts"

/** An object, or a property of one, for which there are no statements. */
export const UncoveredRow = Schema.Struct({
  kind: Schema.String,
  object: Schema.String,
  value: Schema.String,
  shown: Schema.Boolean
})
export type UncoveredRow = typeof UncoveredRow.Type

const decodeNames = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Array(Schema.String)))
const namesOf = (value: string | undefined) => Option.getOrElse(decodeNames(value), () => [])

/** The order after the statements: new columns come last. */
const orderAfter = (source: ReadonlyArray<string>, desired: ReadonlyArray<string>) => [
  ...source.filter((name) => desired.includes(name)),
  ...desired.filter((name) => !source.includes(name))
]

const mapOf = (rows: ReadonlyArray<UncoveredRow>) =>
  new Map(rows.map((row) => [JSON.stringify([row.kind, row.object]), row]))

const uncovered = ({ kind, object }: UncoveredRow, message: string): SchemaWarning => ({
  code: "NOT_COVERED",
  kind,
  object,
  message: `${message}, for which there is no statement here`
})

/** What differs and has no statement. */
export const uncoveredDifferences = (
  source: ReadonlyArray<UncoveredRow>,
  desired: ReadonlyArray<UncoveredRow>
): ReadonlyArray<SchemaWarning> => {
  const [here, there] = [mapOf(source), mapOf(desired)]
  return Array.from(new Set([...here.keys(), ...there.keys()])).flatMap((key) => {
    const [a, b] = [here.get(key), there.get(key)]
    const row = (a ?? b) as UncoveredRow
    const named = `${row.kind} ${row.object}`
    if (row.kind === columnOrder) {
      if (a === undefined || b === undefined) return []
      const [columns, wanted] = [namesOf(a.value), namesOf(b.value)]
      const after = orderAfter(columns, wanted)
      return JSON.stringify(after) === JSON.stringify(wanted)
        ? []
        : [
            uncovered(
              row,
              `The columns of ${row.object} will be in the order ${after.join(", ")}, not ${wanted.join(", ")}`
            )
          ]
    }
    if (a?.value === b?.value) return []
    const value = (one: UncoveredRow) => (one.shown && one.value !== "" ? ` (${one.value})` : "")
    if (a === undefined || b === undefined) {
      // What is created has its defaults, and an extension the version that is installed.
      if (row.value === "" || row.kind === extensionVersion) return []
      return [
        uncovered(row, a === undefined ? `The ${named}${value(row)} is missing` : `The ${named}${value(row)} is to go`)
      ]
    }
    return [
      uncovered(
        row,
        row.shown
          ? `The ${named} is ${a.value || "the default"} and should be ${b.value || "the default"}`
          : `The ${named} exists in both, and may differ`
      )
    ]
  })
}
