import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"
import { type Author } from "../Author.ts"
import { NotFound } from "../errors.ts"

export const WorkspaceItemId = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })).pipe(
  Schema.brand("WorkspaceItemId")
)
export type WorkspaceItemId = typeof WorkspaceItemId.Type

/** Items of a kind that an owner may have. */
export const mostItems = 500
/** Characters of an item's content as JSON. */
const longestContent = 128 * 1024

/** The text of a statement that is kept, in characters. */
export const keptSql = (longest: number) =>
  Schema.String.check(Schema.isBetweenLength(1, longest), isStorable, Schema.isMaxCodePoints(longest))

const Name = Schema.String.check(
  Schema.isMaxCodePoints(80),
  isStorable,
  Schema.makeFilter((text: string) => text.trim() !== "" || "Expected 1 to 80 characters")
)

/** A name of the catalogue. */
const Identifier = Schema.NonEmptyString.check(Schema.isMaxCodePoints(200), isStorable)

/** Values of the parameters $1, $2, …, by number, which PostgreSQL reads as their types; null is NULL. */
export const ParameterValues = Schema.Record(
  Schema.String.check(Schema.isPattern(/^[1-9]\d{0,4}$/, { expected: "the number of a parameter" })),
  Schema.NullOr(Schema.String)
)

/** A statement, with how its result is drawn. */
const QueryContent = Schema.Struct({
  sql: keptSql(100_000),
  values: Schema.optionalKey(ParameterValues),
  chart: Schema.optionalKey(
    Schema.Struct({
      on: Schema.Boolean,
      x: Schema.optionalKey(Schema.String),
      y: Schema.optionalKey(Schema.String),
      kind: Schema.optionalKey(Schema.Literals(["line", "bars"]))
    })
  )
})

/** How a table is shown. */
const ViewContent = Schema.Struct({
  schema: Identifier,
  table: Identifier,
  /** Filters and order, as in the query of `/v1/db/{table}`. */
  search: Schema.Array(Schema.Tuple([Schema.String, Schema.String])).check(Schema.isMaxLength(100)),
  hidden: Schema.Array(Identifier),
  order: Schema.Array(Identifier),
  widths: Schema.Record(Schema.String, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))),
  /** How many of the columns that are shown stay in place. */
  fixed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1600 }))
})

/** Charts of queries, in their order. */
const BoardContent = Schema.Struct({
  charts: Schema.Array(
    Schema.Struct({
      /** The id of a query; callers who may not see it see no chart. */
      query: WorkspaceItemId,
      wide: Schema.Boolean
    })
  ).check(Schema.isMaxLength(24))
})

export const WorkspaceContent = Schema.Union([QueryContent, ViewContent, BoardContent]).check(
  Schema.makeFilter(
    (content: object) =>
      JSON.stringify(content).length <= longestContent || `Expected at most ${longestContent} characters of JSON`
  )
)
export type WorkspaceContent = typeof WorkspaceContent.Type

export const WorkspaceKind = Schema.Literals(["query", "view", "board"])
export type WorkspaceKind = typeof WorkspaceKind.Type

/** The kind of a content, which each has fields of its own. */
export const kindOfContent = (content: WorkspaceContent): WorkspaceKind =>
  "sql" in content ? "query" : "table" in content ? "view" : "board"

/** `shared`: default false. */
export const NewWorkspaceItem = Schema.Struct({
  name: Name,
  shared: Schema.optionalKey(Schema.Boolean),
  content: WorkspaceContent
})
export type NewWorkspaceItem = typeof NewWorkspaceItem.Type

/** Absent fields are left unchanged. */
export const WorkspaceItemChange = Schema.Struct({
  name: Schema.optionalKey(Name),
  shared: Schema.optionalKey(Schema.Boolean),
  content: Schema.optionalKey(WorkspaceContent)
})
export type WorkspaceItemChange = typeof WorkspaceItemChange.Type

/** An item, without its content. */
export const WorkspaceEntry = Schema.Struct({
  id: WorkspaceItemId,
  kind: WorkspaceKind,
  name: Schema.String,
  /** Of a view. */
  schema: Schema.NullOr(Schema.String),
  table: Schema.NullOr(Schema.String),
  /** Whether all administrators see it. */
  shared: Schema.Boolean,
  owner: Schema.Struct({
    type: Schema.Literals(["key", "identity"]),
    /** The key's label or the identity's e-mail address, at the time of the last change. */
    label: Schema.String
  }),
  /** Whether it is the caller's. */
  mine: Schema.Boolean,
  /** Whether the caller may change it: it is theirs, or the key that it belonged to has been revoked. */
  changeable: Schema.Boolean,
  revision: Schema.Int,
  created_at: Schema.String,
  updated_at: Schema.String
})
export type WorkspaceEntry = typeof WorkspaceEntry.Type

export const WorkspaceItem = Schema.Struct({ ...WorkspaceEntry.fields, content: WorkspaceContent })
export type WorkspaceItem = typeof WorkspaceItem.Type

/** The owner of what an author saves: a person, or all who sign in with a key. */
export const ownerOf = ({ id, type }: Author): readonly [type: string, id: string] => [type, String(id)]

/** Also for items of others that are not shared, so that their ids say nothing. */
export const itemNotFound = (id: number) =>
  new NotFound({
    error: `There is no item ${id} of yours in the workspace, and none that is shared`,
    code: "WORKSPACE_ITEM_NOT_FOUND"
  })
