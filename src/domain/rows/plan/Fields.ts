import { type Relation } from "../../catalogue/Catalogue.ts"
import { type PlannedCondition, type PlannedField } from "./Plan.ts"
import { type Condition, type Field } from "../parse/Query.ts"

/** Facts that the planner collects while it looks names up. */
export interface Findings {
  /** True until something may run user-defined code. */
  clean: boolean
}

/** Looks a field up in the columns and computed columns of a relation. Never fails: PostgreSQL reports unknown columns. */
export const planField = (relation: Relation | undefined, { name, json }: Field, findings: Findings): PlannedField => {
  const column = relation?.byName.get(name)
  if (column !== undefined) {
    // A path leads into the stored value.
    const casts = json.length === 0 ? column.casts : null
    if (casts !== null) findings.clean = false
    return {
      casts,
      name,
      kind: "column",
      schema: undefined,
      json,
      toJson: json.length > 0 && column.kind !== "json",
      type: column.type_oid,
      tsvector: column.kind === "tsvector"
    }
  }
  const computed = relation?.computed.find((one) => one.name === name)
  if (relation !== undefined && computed === undefined && name === "count" && json.length === 0) {
    return { name, kind: "count", schema: undefined, json, toJson: false, type: 20, tsvector: false, casts: null }
  }
  // PostgreSQL may also read `t.f` as a call of a function f on the row.
  findings.clean = false
  return {
    name,
    kind: computed === undefined ? "unknown" : "computed",
    schema: computed?.schema,
    json,
    toJson: json.length > 0 && computed?.kind !== "json",
    type: computed?.type_oid ?? 0,
    casts: null,
    // An unknown field is matched as it is.
    tsvector: computed === undefined ? json.length === 0 : computed.kind === "tsvector"
  }
}

/** The text search configurations that PostgreSQL brings. */
const languages: ReadonlySet<string> = new Set(
  (
    "simple arabic armenian basque catalan danish dutch english estonian finnish french german greek hindi hungarian " +
    "indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish swedish tamil " +
    "turkish yiddish"
  ).split(" ")
)

/**
 * Plans a condition on the rows of a relation. `joinOf`: index of the embed with a name; testing an embed for null tests
 * whether it has rows.
 */
export const planCondition = (
  relation: Relation | undefined,
  condition: Condition,
  findings: Findings,
  joinOf: (name: string) => number
): PlannedCondition => {
  if ("conditions" in condition) {
    return {
      _tag: condition._tag,
      negated: condition.negated,
      conditions: condition.conditions.map((inner) => planCondition(relation, inner, findings, joinOf))
    }
  }
  const { negated, field, ...test } = condition
  if (test._tag === "Is" && field.json.length === 0 && (test.value === "null" || test.value === "not_null")) {
    const join = joinOf(field.name)
    if (join >= 0) return { _tag: "Exists", join, negated: negated !== (test.value === "null") }
  }
  // The name of a user-defined configuration is found by the search path.
  if (test._tag === "FullText" && test.language !== undefined && !languages.has(test.language)) findings.clean = false
  return { _tag: "Test", negated, field: planField(relation, field, findings), test }
}

/** The default name of a field in the response: the last key of its path that is not an array index. */
export const fieldName = ({ name, json }: Field) => json.findLast((step) => !step.index)?.key ?? name
