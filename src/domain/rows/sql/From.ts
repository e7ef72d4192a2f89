import { type RelationName } from "../../catalogue/Relationship.ts"
import { type RowName } from "./Condition.ts"
import { type Link, type RowPlan } from "../plan/Plan.ts"
import { type RowScope } from "./Scope.ts"
import { quoteName } from "../../sql/Names.ts"

/** The outer row of an embed, and the link to it. */
export interface Around {
  readonly row: RowName
  readonly link: Link
  /** Name of the row's relation, which makes aliases in PostgreSQL's messages readable. */
  readonly name: string
  /** 1 for embeds of the table itself. */
  readonly depth: number
}

export const relationSql = ({ schema, name }: RelationName) => `${quoteName(schema)}.${quoteName(name)}`

/** FROM, its row, and the conditions that link the row to the outer one. */
export const fromSql = (plan: RowPlan, scope: RowScope, around: Around | undefined) => {
  const { source } = plan
  if (source._tag === "With") {
    const alias = scope.alias(source.called)
    const row = source.type === undefined ? `${alias}.*` : `${alias}.*::${relationSql(source.type)}`
    const whole = source.whole === undefined ? row : `${alias}.${quoteName(source.whole)}`
    return { from: `${source.name} ${alias}`, row: { columns: alias, whole }, conditions: [] }
  }
  const relation = relationSql(source.name)
  if (around === undefined) {
    scope.reserve(source.name.name)
    return { from: relation, row: { columns: relation, whole: `${relation}.*` }, conditions: [] }
  }
  const alias = scope.alias(`${source.name.name}_${around.depth}`)
  const row: RowName = { columns: alias, whole: `${alias}.*` }
  if (source._tag === "Computed") {
    return { from: `${relationSql(source.function)}(${around.row.whole}) ${alias}`, row, conditions: [] }
  }
  const { link } = around
  const equal = (columns: string, column: string, there: string, other: string) =>
    `${columns}.${quoteName(column)} = ${there}.${quoteName(other)}`
  if (link._tag === "Junction") {
    const junction = scope.alias(link.relation.name)
    return {
      from: `${relation} ${alias}, ${relationSql(link.relation)} ${junction}`,
      row,
      conditions: [
        ...link.near.map(([here, there]) => equal(junction, there, around.row.columns, here)),
        ...link.far.map(([here, there]) => equal(alias, there, junction, here))
      ]
    }
  }
  const columns = link._tag === "Keys" ? link.columns : []
  return {
    from: `${relation} ${alias}`,
    row,
    conditions: columns.map(([here, there]) => equal(alias, there, around.row.columns, here))
  }
}
