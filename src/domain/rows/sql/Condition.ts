import { type PlannedCondition, type PlannedField } from "../plan/Plan.ts"
import { comparedValue, isPattern, isRegex, isWords, operatorSql } from "../parse/Operators.ts"
import { type Test } from "../parse/Query.ts"
import { type RowScope } from "./Scope.ts"
import { arrayLiteral, quoteName } from "../../sql/Names.ts"

/** How SQL refers to a row: the qualifier of its columns, and the row as a value of its type. */
export interface RowName {
  readonly columns: string
  readonly whole: string
}

export const fieldSql = (field: PlannedField, row: RowName, scope: RowScope) => {
  if (field.kind === "count") return "pg_catalog.count(*)"
  const value =
    field.kind === "computed"
      ? `${quoteName(field.schema ?? "")}.${quoteName(field.name)}(${row.whole})`
      : `${row.columns}.${quoteName(field.name)}`
  if (field.json.length === 0) return value
  const path = field.json.map(
    ({ key, index, text }) => `${text ? "->>" : "->"}${scope.key(key)}::${index ? "int" : "text"}`
  )
  return `(${field.toJson ? `pg_catalog.to_jsonb(${value})` : value}${path.join("")})`
}

/** The text of a filter as a value of the field. `list`: an array of such texts, of which any or all are compared. */
const literalSql = ({ casts, type }: PlannedField, text: string, list: boolean, scope: RowScope) => {
  const parse = casts?.from_text ?? undefined
  if (parse === undefined) return scope.typed(text, type)
  if (!list) return `${parse}(${scope.param(text)}::text)`
  return `select ${parse}(_svc_text) from pg_catalog.unnest(${scope.param(text)}::text[]) _svc_text`
}

const testSql = (field: PlannedField, test: Test, row: RowName, scope: RowScope) => {
  const left = fieldSql(field, row, scope)
  switch (test._tag) {
    case "Compare": {
      scope.costly ||= isRegex(test.operator)
      const compared = comparedValue(test.operator, test.value)
      const value = isPattern(test.operator)
        ? scope.typed(compared, field.type)
        : literalSql(field, compared, test.quantifier !== undefined, scope)
      return `${left} ${operatorSql(test.operator)} ${test.quantifier === undefined ? value : `${test.quantifier} (${value})`}`
    }
    case "In":
      return `${left} = any (${literalSql(field, arrayLiteral(test.values), true, scope)})`
    case "Is":
      return `${left} is ${isWords[test.value]}`
    case "FullText": {
      const language = test.language === undefined ? "" : `${scope.param(test.language)}::regconfig, `
      const found = field.tsvector && field.json.length === 0 ? left : `pg_catalog.to_tsvector(${language}${left})`
      return `${found} @@ pg_catalog.${operatorSql(test.operator)}(${language}${scope.typed(test.value, field.type)})`
    }
  }
}

/** `exists`: the SQL test that the embed with index `join` has rows. */
export const conditionSql = (
  condition: PlannedCondition,
  row: RowName,
  scope: RowScope,
  exists: (join: number) => string
): string => {
  const text = (() => {
    switch (condition._tag) {
      case "Test":
        return testSql(condition.field, condition.test, row, scope)
      case "Exists":
        return exists(condition.join)
      case "And":
      case "Or": {
        const between = condition._tag === "And" ? " and " : " or "
        return `(${condition.conditions.map((inner) => conditionSql(inner, row, scope, exists)).join(between)})`
      }
    }
  })()
  return condition.negated ? `not (${text})` : text
}
