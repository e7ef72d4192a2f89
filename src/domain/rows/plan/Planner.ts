import { Result } from "effect"
import { type Catalogue, type Relation } from "../../catalogue/Catalogue.ts"
import { type DatabaseError, InvalidRequest } from "../../errors.ts"
import { type RelationName, type Relationship } from "../../catalogue/Relationship.ts"
import { fieldName, type Findings, planCondition, planField } from "./Fields.ts"
import {
  type Aggregated,
  type Item,
  type Join,
  type Link,
  type PlannedOrder,
  type PlannedRows,
  type RowPlan,
  type RowSource
} from "./Plan.ts"
import { type Field, type RowQuery } from "../parse/Query.ts"
import { aggregates, isSingle, refuseRelated, Refused, type Related, Relating, type SelectLimits } from "./Related.ts"
import { notEmbedded, type RowTree, rowTree } from "./Tree.ts"

type Planned<A> = Result.Result<A, InvalidRequest | DatabaseError>

/** The planner's input in addition to the query. */
export interface PlanContext extends SelectLimits {
  readonly catalogue: Catalogue
  /** The source of the rows, and the relation that embeds start from. `schema` is the request's. */
  readonly source: RowSource
  readonly from: RelationName
  readonly relation: Relation | undefined
  /** The most rows of the result and of each to-many embed; 0: no limit. */
  readonly maxRows: number
  /** False for the rows that a write returns: its filters have already been applied, and all rows are returned. */
  readonly filtered: boolean
  /** `*` becomes the columns one by one; by default only where the SQL needs it. */
  readonly expanded?: boolean
}

/** An aggregate that a to-one spread passes up to the row it is spread into. */
type Hoisted = Pick<Aggregated, "aggregate" | "aggregateCast"> | undefined

const noAggregate = { cast: undefined, aggregate: undefined, aggregateCast: undefined }

/** Looks up every name of a query. */
export const planRows = (query: RowQuery, context: PlanContext): Planned<PlannedRows> => {
  const tree = rowTree(query, context.from.name, context.filtered)
  if (Result.isFailure(tree)) return Result.fail(tree.failure)
  const findings: Findings = { clean: true }
  try {
    const relating = new Relating(context.catalogue, context.from, context.relation, context)
    const related = relating.relate(tree.success, context.from)
    relating.check(related)
    const planner = new Planner(context, relating, findings)
    const { rows } = planner.plan(related, context.source, context.relation, context.maxRows)
    return Result.succeed({
      rows: context.filtered ? rows : { ...rows, limit: undefined, offset: undefined },
      clean: findings.clean
    })
  } catch (error) {
    if (error instanceof Refused) return Result.fail(error.reason)
    throw error
  }
}

class Planner {
  private readonly context: PlanContext
  private readonly relating: Relating
  private readonly findings: Findings
  constructor(context: PlanContext, relating: Relating, findings: Findings) {
    this.context = context
    this.relating = relating
    this.findings = findings
  }

  /** `hoisted`: the aggregate of each item of a to-one spread, which the outer row computes. */
  plan(
    { tree, children, relationship }: Related,
    source: RowSource,
    relation: Relation | undefined,
    maxRows: number
  ): { readonly rows: RowPlan; readonly hoisted: ReadonlyArray<Hoisted> } {
    if (relation?.clean_read !== true) this.findings.clean = false
    const spread = tree.embed?.spread === true
    const single = isSingle(relationship)
    const joins: Array<Join> = []
    const embedded: Array<Item> = []
    for (const [join, child] of children.entries()) {
      const found = this.join(child, tree)
      joins.push(found.join)
      if (found.join.spread) {
        for (const [item, { as }] of found.named.entries()) {
          embedded.push({ _tag: "Spread", join, item, as, ...noAggregate, ...found.hoisted[item] })
        }
      } else if (!found.join.hidden) embedded.push({ _tag: "Embed", join, as: child.tree.name })
    }
    const grouped = tree.select.some(aggregates) || embedded.some((item) => item._tag === "Spread" && item.aggregate)
    if (grouped && spread && !single) refuseRelated(notImplemented())
    const fields = tree.select.flatMap((item) =>
      this.items(item, relation, grouped || spread || this.context.expanded === true)
    )
    const items = [...fields, ...embedded]
    const leaves = spread && single
    const rows: RowPlan = {
      source,
      relation,
      items: leaves ? items.map(withoutAggregate) : items,
      joins,
      where: tree.filters.map((condition) =>
        planCondition(relation, condition, this.findings, (name) => joins.findIndex((join) => join.name === name))
      ),
      order: this.order(tree, joins, relation),
      limit: capped(tree.limit, maxRows),
      offset: tree.offset,
      grouped: grouped && !leaves
    }
    return { rows, hoisted: leaves ? items.map(hoistedOf) : [] }
  }

  private join(child: Related, around: RowTree) {
    const { tree, relationship } = child
    const single = isSingle(relationship)
    const { source, link } = linkOf(relationship ?? refuseRelated(notEmbedded(tree.name)))
    // Functions of the row are user-defined.
    if (source._tag === "Computed") this.findings.clean = false
    if (link._tag === "Junction") this.checkClean(link.relation)
    const relation = this.relating.relationOf(relationship)
    const { rows, hoisted } = this.plan(child, source, relation, single ? 0 : this.context.maxRows)
    const orderedBy = around.order
      .filter((term) => term.relation === tree.name)
      .map(({ field }) => this.ordered(tree, relation, field))
    const join: Join = {
      rows,
      name: tree.name,
      link,
      single,
      inner: tree.embed?.join === "inner",
      hidden: isEmpty(child),
      spread: tree.embed?.spread === true,
      orderedBy
    }
    return { join, hoisted, named: rows.items.map((item) => ({ as: item._tag === "All" ? "*" : item.as })) }
  }

  /** A column of the embed, or a name that its `select` gives to one, which takes precedence. */
  private ordered(
    { select }: RowTree,
    relation: Relation | undefined,
    { name, json }: Field
  ): Join["orderedBy"][number] {
    const named = select.find(
      (item) => item._tag === "Field" && item.aggregate === undefined && (item.alias ?? fieldName(item.field)) === name
    )
    if (named?._tag !== "Field" || (named.cast !== undefined && json.length > 0)) {
      return { field: planField(relation, { name, json }, this.findings), cast: undefined }
    }
    const field = { name: named.field.name, json: [...named.field.json, ...json] }
    return { field: planField(relation, field, this.findings), cast: named.cast }
  }

  private checkClean({ schema, name }: RelationName) {
    if (this.context.catalogue.relation(schema, name)?.clean_read !== true) this.findings.clean = false
  }

  private items(item: RowTree["select"][number], relation: Relation | undefined, named: boolean): ReadonlyArray<Item> {
    switch (item._tag) {
      case "All":
        // A relation without columns expands to none: `*` would return the placeholder column of RETURNING.
        if (relation === undefined || (!named && !relation.formatted && relation.columns.length > 0)) return [item]
        return relation.columns.map(({ name }) => ({
          _tag: "Field",
          field: planField(relation, { name, json: [] }, this.findings),
          as: name,
          ...noAggregate
        }))
      case "Count":
        if (item.cast !== undefined) this.findings.clean = false
        return [{ _tag: "Count", as: item.alias ?? "count", aggregateCast: item.cast }]
      case "Field": {
        const { field, alias, cast, aggregate, aggregateCast } = item
        // PostgreSQL finds a cast's type and function by name.
        if (cast ?? aggregateCast) this.findings.clean = false
        const as = alias ?? aggregate ?? fieldName(field)
        const planned = planField(relation, field, this.findings)
        // An aggregate is of the stored values: JSON, which shows them, has no order and no sum.
        const summed = aggregate === undefined || cast !== undefined ? planned : { ...planned, casts: null }
        return [{ _tag: "Field", field: summed, as, cast, aggregate, aggregateCast }]
      }
    }
  }

  private order(
    tree: RowTree,
    joins: ReadonlyArray<Join>,
    relation: Relation | undefined
  ): ReadonlyArray<PlannedOrder> {
    const seen = new Map<string, number>()
    return tree.order.map(({ relation: name, field, direction, nulls }) => {
      if (name === undefined) {
        return { by: { _tag: "Field", field: planField(relation, field, this.findings) }, direction, nulls }
      }
      const ordered = seen.get(name) ?? 0
      seen.set(name, ordered + 1)
      return { by: { _tag: "Join", join: joins.findIndex((join) => join.name === name), ordered }, direction, nulls }
    })
  }
}

const notImplemented = () =>
  new InvalidRequest({
    error: "Feature not implemented",
    code: "PGRST127",
    details: "Aggregates are not implemented for one-to-many or many-to-many spreads."
  })

/** Whether neither columns nor embeds with columns are returned. */
const isEmpty = ({ tree, children }: Related): boolean => tree.select.length === 0 && children.every(isEmpty)

const linkOf = (relationship: Relationship): { readonly source: RowSource; readonly link: Link } => {
  const { to } = relationship
  if (relationship._tag === "Computed") {
    return {
      source: { _tag: "Computed", function: relationship.function, name: to },
      link: { _tag: "Argument" }
    }
  }
  const { columns, junction } = relationship
  const link: Link =
    junction === undefined
      ? { _tag: "Keys", columns }
      : { _tag: "Junction", relation: junction.relation, near: columns, far: junction.columns }
  return { source: { _tag: "Relation", name: to }, link }
}

const withoutAggregate = (item: Item): Item => {
  if (item._tag === "Count") return { _tag: "One", as: item.as }
  return item._tag === "Field" || item._tag === "Spread"
    ? { ...item, aggregate: undefined, aggregateCast: undefined }
    : item
}

const hoistedOf = (item: Item): Hoisted => {
  if (item._tag === "Count") return { aggregate: "count", aggregateCast: item.aggregateCast }
  if (item._tag !== "Field" && item._tag !== "Spread") return undefined
  return item.aggregate && { aggregate: item.aggregate, aggregateCast: item.aggregateCast }
}

/** The lower of `limit` and `maxRows`; 0: no maximum. */
const capped = (limit: string | undefined, maxRows: number) =>
  maxRows > 0 && (limit === undefined || Number(limit) > maxRows) ? String(maxRows) : limit
