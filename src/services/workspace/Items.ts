import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { shownItem } from "../../domain/audit/Shown.ts"
import { type Author } from "../../domain/Author.ts"
import {
  Conflict,
  Forbidden,
  InvalidRequest,
  type NotFound,
  PreconditionFailed,
  type Unavailable
} from "../../domain/errors.ts"
import { type Expected, isExpected } from "../../domain/Revision.ts"
import { workspaceLock } from "../../domain/sql/AdvisoryLocks.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import {
  itemNotFound,
  kindOfContent,
  mostItems,
  type NewWorkspaceItem,
  ownerOf,
  type WorkspaceContent,
  WorkspaceEntry,
  WorkspaceItem,
  type WorkspaceItemChange,
  type WorkspaceItemId,
  type WorkspaceKind
} from "../../domain/workspace/Item.ts"
import { recordChange } from "../audit/Change.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"

/** The caller is the first two parameters of every statement. */
const mine = "(i.owner_type = $1 and i.owner_id = $2)"
/** A key that has been revoked can't change what it has shared any more, so that anyone may. */
const changeable = `(${mine} or i.shared and i.owner_type = 'key' and exists (
  select from svc.api_keys k where k.id::text = i.owner_id and k.revoked_at is not null))`
const columns = `i.id, i.kind, i.name, i.table_schema as schema, i.table_name as "table", i.shared,
  json_build_object('type', i.owner_type, 'label', i.owner_label) as owner, ${mine} as mine, ${changeable} as changeable,
  i.revision, ${isoSql("i.created_at")} as created_at, ${isoSql("i.updated_at")} as updated_at`

const nameTaken = new Conflict({
  error: "You have an item of this kind with this name already: change it, or choose another name",
  code: "WORKSPACE_NAME_TAKEN"
})
const full = new Conflict({
  error: `You have ${mostItems} items of this kind already: delete one first`,
  code: "WORKSPACE_FULL"
})
const notOwner = new Forbidden({
  error: "Only the owner may change a shared item: save a copy of your own",
  code: "WORKSPACE_NOT_OWNER"
})
const otherKind = (kind: WorkspaceKind) =>
  new InvalidRequest({
    error: `The content is not that of a ${kind}`,
    details: [`content: Expected the fields of a ${kind}`]
  })
const changed = new PreconditionFailed({ error: "The item has changed since it was read: read it again" })

const tableOf = (content: WorkspaceContent): readonly [schema: string | null, table: string | null] =>
  "table" in content ? [content.schema, content.table] : [null, null]

interface ItemFilter {
  readonly kind?: WorkspaceKind | undefined
  readonly schema?: string | undefined
  readonly table?: string | undefined
}

/** What people keep in the dashboard. Callers see what is theirs, and what is shared. */
export class WorkspaceItems extends Context.Service<
  WorkspaceItems,
  {
    /** By name, one's own first. */
    readonly list: (author: Author, filter: ItemFilter) => Effect.Effect<ReadonlyArray<WorkspaceEntry>, Unavailable>
    readonly find: (author: Author, id: WorkspaceItemId) => Effect.Effect<WorkspaceItem, NotFound | Unavailable>
    /** 409 `WORKSPACE_NAME_TAKEN`, `WORKSPACE_FULL`. */
    readonly create: (author: Author, given: NewWorkspaceItem) => Effect.Effect<WorkspaceItem, Conflict | Unavailable>
    /** 403 `WORKSPACE_NOT_OWNER`, 412 if the revision is not an expected one. */
    readonly update: (
      author: Author,
      id: WorkspaceItemId,
      change: WorkspaceItemChange,
      expected: Expected
    ) => Effect.Effect<
      WorkspaceItem,
      NotFound | Forbidden | Conflict | InvalidRequest | PreconditionFailed | Unavailable
    >
    readonly remove: (
      author: Author,
      id: WorkspaceItemId,
      expected: Expected
    ) => Effect.Effect<void, NotFound | Forbidden | PreconditionFailed | Unavailable>
  }
>()("svc/services/WorkspaceItems") {
  static readonly layer = Layer.effect(
    WorkspaceItems,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const entries = queryRows(sql, WorkspaceEntry)
      const items = queryRows(sql, WorkspaceItem)

      const list = Effect.fn("WorkspaceItems.list")((author: Author, { kind, schema, table }: ItemFilter) =>
        onOwnTables(
          entries(
            `select ${columns} from svc.workspace_items i
             where (i.shared or ${mine}) and ($3::text is null or i.kind = $3)
               and ($4::text is null or i.table_schema = $4) and ($5::text is null or i.table_name = $5)
             order by mine desc, lower(i.name), i.id`,
            [...ownerOf(author), kind ?? null, schema ?? null, table ?? null]
          )
        )
      )

      const visible = (author: Author, id: WorkspaceItemId, lock: "" | "for update of i" = "") =>
        Effect.flatMap(
          items(
            `select ${columns}, i.content from svc.workspace_items i where i.id = $3::int and (i.shared or ${mine}) ${lock}`,
            [...ownerOf(author), id]
          ),
          ([item]) => (item === undefined ? Effect.fail(itemNotFound(id)) : Effect.succeed(item))
        )
      const find = Effect.fn("WorkspaceItems.find")((author: Author, id: WorkspaceItemId) =>
        onOwnTables(visible(author, id))
      )

      /** The item, which the caller may change now. */
      const changing = Effect.fnUntraced(function* (author: Author, id: WorkspaceItemId, expected: Expected) {
        const item = yield* visible(author, id, "for update of i")
        if (!item.changeable) return yield* notOwner
        if (!isExpected(item.revision, expected)) return yield* changed
        return item
      })

      /** Makes room for one more; those of an owner are added one after another. */
      const room = Effect.fnUntraced(function* (author: Author, kind: WorkspaceKind) {
        const owner = ownerOf(author)
        yield* sql.unsafe(`select pg_advisory_xact_lock(${workspaceLock}, hashtext($1))`, [owner.join(" ")])
        const [row] = yield* sql.unsafe<{ readonly count: number }>(
          `select count(*)::int as count from svc.workspace_items i where ${mine} and i.kind = $3`,
          [...owner, kind]
        )
        if ((row?.count ?? 0) >= mostItems) return yield* full
        return undefined
      })

      const create = Effect.fn("WorkspaceItems.create")(function* (author: Author, given: NewWorkspaceItem) {
        const kind = kindOfContent(given.content)
        const made = Effect.gen(function* () {
          yield* room(author, kind)
          const [item] = yield* items(
            `with i as (
               insert into svc.workspace_items
                 (owner_type, owner_id, owner_label, kind, name, table_schema, table_name, content, shared)
               values ($1, $2, $3, $4, $5, $6, $7, $8::text::json, $9::bool) returning *)
             select ${columns}, i.content from i`,
            [
              ...ownerOf(author),
              author.label,
              kind,
              given.name.trim(),
              ...tableOf(given.content),
              JSON.stringify(given.content),
              given.shared ?? false
            ]
          )
          if (item === undefined) return yield* Effect.die("No row was inserted")
          yield* recordChange(sql, { subject: `workspace:${item.id}`, after: shownItem(item) })
          return item
        })
        return yield* onOwnTables(sql.withTransaction(made), { "23505": () => nameTaken })
      })

      const update = Effect.fn("WorkspaceItems.update")(function* (
        author: Author,
        id: WorkspaceItemId,
        change: WorkspaceItemChange,
        expected: Expected
      ) {
        const made = Effect.gen(function* () {
          const before = yield* changing(author, id, expected)
          const content = change.content ?? before.content
          if (kindOfContent(content) !== before.kind) return yield* otherKind(before.kind)
          if (!before.mine) yield* room(author, before.kind)
          const [item] = yield* items(
            `with i as (
               update svc.workspace_items set owner_type = $1, owner_id = $2, owner_label = $3, name = $5,
                 table_schema = $6, table_name = $7, content = $8::text::json, shared = $9::bool,
                 revision = revision + 1, updated_at = now()
               where id = $4::int returning *)
             select ${columns}, i.content from i`,
            [
              ...ownerOf(author),
              author.label,
              id,
              (change.name ?? before.name).trim(),
              ...tableOf(content),
              JSON.stringify(content),
              change.shared ?? before.shared
            ]
          )
          if (item === undefined) return yield* itemNotFound(id)
          yield* recordChange(sql, { subject: `workspace:${id}`, before: shownItem(before), after: shownItem(item) })
          return item
        })
        return yield* onOwnTables(sql.withTransaction(made), { "23505": () => nameTaken })
      })

      const remove = Effect.fn("WorkspaceItems.remove")((author: Author, id: WorkspaceItemId, expected: Expected) =>
        onOwnTables(
          sql.withTransaction(
            Effect.gen(function* () {
              const before = yield* changing(author, id, expected)
              yield* sql`delete from svc.workspace_items where id = ${id}`
              yield* recordChange(sql, { subject: `workspace:${id}`, before: shownItem(before) })
            })
          )
        )
      )

      return WorkspaceItems.of({ list, find, create, update, remove })
    })
  )
}
