import { encodeId, type FactBase } from "@supabase/pg-delta/core"
import { aligned, reportedKinds } from "./Alignment.ts"
import { correctedFacts, type SchemaReading } from "./Corrections.ts"
import { newTransaction } from "../../migrations/NewFiles.ts"
import { type SchemaDifference, type SchemaTarget, type SchemaWarning } from "./SchemaDifference.ts"
import { kindName, objectName, schemaFingerprint, schemaStatements } from "./Statements.ts"
import { uncoveredDifferences } from "./Uncovered.ts"

/** Objects of kinds that are only reported. */
const reported = (source: FactBase, desired: FactBase): ReadonlyArray<SchemaWarning> => {
  const ids = new Map(
    [...source.facts(), ...desired.facts()].flatMap(({ id }) =>
      reportedKinds.includes(id.kind) ? [[encodeId(id), id] as const] : []
    )
  )
  return Array.from(ids.values()).flatMap((id) => {
    const [here, there] = [source.has(id), desired.has(id)]
    if (here && there && source.hashOf(id) === desired.hashOf(id)) return []
    const how = here && there ? "differs" : here ? "is to go" : "is missing"
    return [
      {
        code: "NOT_COVERED" as const,
        kind: kindName(id),
        object: objectName(id),
        message: `The ${kindName(id)} ${objectName(id)} ${how}, which only a superuser can change`
      }
    ]
  })
}

const comment = (text: string) => `-- ${text.replaceAll(/[\r\n]+/g, " ")}`

/** The whole migration file. */
const fileOf = (
  statements: SchemaDifference["statements"],
  warnings: ReadonlyArray<SchemaWarning>,
  settings: ReadonlyArray<string>
) => {
  if (statements.length === 0 && warnings.length === 0) return ""
  const lines = warnings.map(({ message }) => comment(`Warning: ${message}`))
  let transaction = 0
  for (const { destructive, kind, object, rewrites, sql, transaction: own } of statements) {
    if (own !== transaction) lines.push(...(transaction === 0 ? [] : ["", newTransaction]), ...settings)
    transaction = own
    lines.push("")
    if (destructive) lines.push(comment(`Destructive: deletes the values of the ${kind} ${object}`))
    else if (rewrites) lines.push(comment(`Writes the table of ${object} again, and locks it meanwhile`))
    lines.push(sql)
  }
  return `${lines.join("\n").trimStart()}\n`
}

const sideOf = (reading: SchemaReading) => ({ facts: correctedFacts(reading), role: reading.role })

/** What makes of the source's schema the desired one. Throws if the library has no order of statements. */
export const schemaDifference = (source: SchemaReading, desired: SchemaReading, to: SchemaTarget): SchemaDifference => {
  const [here, there] = [sideOf(source), sideOf(desired)]
  const sides = aligned(here, there)
  const made = schemaStatements(sides.source, sides.desired, source.role)
  const { fingerprint, settings, statements } = made
  const warnings = [
    ...reported(here.facts, there.facts),
    ...uncoveredDifferences(source.uncovered, desired.uncovered),
    ...made.warnings
  ]
  return {
    to,
    fingerprint,
    sql: fileOf(statements, warnings, settings),
    statements,
    transactions: statements.at(-1)?.transaction ?? 0,
    destructive: statements.filter(({ destructive }) => destructive).length,
    warnings
  }
}

/** Names the schema of a database for differences from another one, in which the service acts as `other`. */
export const schemaFingerprintOf = (source: SchemaReading, other: string): string => {
  const side = sideOf(source)
  return schemaFingerprint(aligned(side, { facts: side.facts, role: other }).source)
}
