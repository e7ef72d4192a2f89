import { Result } from "effect"
import { type Catalogue, type Relation } from "../../catalogue/Catalogue.ts"
import { type DatabaseError, InvalidRequest } from "../../errors.ts"
import { type RelationName, type Relationship } from "../../catalogue/Relationship.ts"
import { findRelationship } from "./Embeds.ts"
import { type Selected } from "../parse/Query.ts"
import { notEmbedded, type RowTree } from "./Tree.ts"

/** Carries an error out of the recursion. */
export class Refused extends Error {
  readonly reason: InvalidRequest | DatabaseError
  constructor(reason: InvalidRequest | DatabaseError) {
    super()
    this.reason = reason
  }
}

export const refuseRelated = (reason: InvalidRequest | DatabaseError): never => {
  throw new Refused(reason)
}

/** A tree with the relationship of each embed. */
export interface Related {
  readonly tree: RowTree
  readonly relationship: Relationship | undefined
  readonly children: ReadonlyArray<Related>
}

export const isSingle = (relationship: Relationship | undefined) => {
  if (relationship === undefined) return false
  if (relationship._tag === "Computed") return relationship.single
  return relationship.cardinality === "many-to-one" || relationship.cardinality === "one-to-one"
}

/** Whether an item of `select` is an aggregate. */
export const aggregates = (item: Selected) =>
  item._tag === "Count" || (item._tag === "Field" && item.aggregate !== undefined)

/** The rules for the content of a `select`. */
export interface SelectLimits {
  /** Whether aggregates may be used. */
  readonly aggregates: boolean
}

/** The most embeds: PostgreSQL's planner takes quadratic time, and results multiply with each level. */
const [maxEmbeds, maxEmbedDepth] = [50, 10]

const tooDeep = new InvalidRequest({
  error: `Embeds are nested more than ${maxEmbedDepth} levels deep`,
  code: "EMBEDS_TOO_DEEP",
  hint: "Use several requests, or a view or function"
})

const aggregatesDisabled = new InvalidRequest({
  error: "Use of aggregate functions is not allowed",
  code: "PGRST123",
  hint: "SVC_DB_AGGREGATES=true allows them; POST /v1/sql, with a service_role key, needs no setting"
})

const tooManyEmbeds = new InvalidRequest({
  error: `The request has more than ${maxEmbeds} embeds`,
  code: "TOO_MANY_EMBEDS",
  hint: "Use several requests, or a view or function"
})

/** Resolves embeds, and rejects what PostgREST rejects. */
export class Relating {
  private readonly catalogue: Catalogue
  private readonly from: RelationName
  private readonly relation: Relation | undefined
  private readonly limits: SelectLimits
  private embeds = 0
  /** `relation`: that of the rows that embeds start from, named `from`. */
  constructor(catalogue: Catalogue, from: RelationName, relation: Relation | undefined, limits: SelectLimits) {
    this.limits = limits
    this.catalogue = catalogue
    this.from = from
    this.relation = relation
  }

  relate(tree: RowTree, from: RelationName, relationship?: Relationship, depth = 0): Related {
    if (depth > maxEmbedDepth) refuseRelated(tooDeep)
    if (this.embeds++ > maxEmbeds) refuseRelated(tooManyEmbeds)
    const children = tree.children.map((child) => {
      const { embed } = child
      if (embed === undefined) return refuseRelated(notEmbedded(child.name))
      const found = findRelationship(this.catalogue, from, embed)
      if (Result.isFailure(found)) return refuseRelated(found.failure)
      return this.relate(child, found.success.to, found.success, depth + 1)
    })
    return { tree, relationship, children }
  }

  /** PostgREST's checks of a tree, in its order. */
  check(root: Related) {
    this.checkOrders(root)
    this.checkFilters(root)
    if (!this.limits.aggregates && anywhere(root, ({ tree }) => tree.select.some(aggregates))) {
      refuseRelated(aggregatesDisabled)
    }
  }

  private checkOrders({ tree, children, relationship }: Related) {
    const from = relationship?.to.name ?? this.from.name
    for (const { relation } of tree.order) {
      if (relation === undefined) continue
      const child = children.find(({ tree }) => tree.name === relation) ?? refuseRelated(notEmbedded(relation))
      if (isSingle(child.relationship)) continue
      refuseRelated(
        new InvalidRequest({
          error: `A related order on '${relation}' is not possible`,
          code: "PGRST118",
          details: `'${from}' and '${relation}' do not form a many-to-one or one-to-one relationship`
        })
      )
    }
    for (const child of children) this.checkOrders(child)
  }

  /** A filter on an embed must be a null test, unless a column has the same name. */
  private checkFilters({ tree, children, relationship }: Related) {
    const relation = this.relationOf(relationship)
    const visit = (conditions: RowTree["filters"]) => {
      for (const condition of conditions) {
        if ("conditions" in condition) {
          visit([...condition.conditions])
          continue
        }
        const { name, json } = condition.field
        if (json.length > 0 || isNullTest(condition) || relation?.byName.has(name)) continue
        if (!children.some((child) => child.tree.name === name)) continue
        refuseRelated(
          new InvalidRequest({
            error: `Bad operator on the '${name}' embedded resource`,
            code: "PGRST120",
            details: "Only is null or not is null filters are allowed on embedded resources"
          })
        )
      }
    }
    visit(tree.filters)
    for (const child of children) this.checkFilters(child)
  }

  relationOf(relationship: Relationship | undefined) {
    if (relationship === undefined) return this.relation
    return this.catalogue.relation(relationship.to.schema, relationship.to.name)
  }
}

const isNullTest = (condition: RowTree["filters"][number]) =>
  condition._tag === "Is" && (condition.value === "null" || condition.value === "not_null")

const anywhere = (related: Related, holds: (related: Related) => boolean): boolean =>
  holds(related) || related.children.some((child) => anywhere(child, holds))
