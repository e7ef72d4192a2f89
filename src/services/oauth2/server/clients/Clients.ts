import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { Conflict, InvalidRequest, NotFound } from "../../../../domain/errors.ts"
import { isJsonObject, type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { type OAuth2 } from "../../../ports/OAuth2.ts"
import { isPathId, isStorableJson, oneLine } from "../../../../domain/oauth2/Text.ts"
import {
  clientOf,
  fieldsOf,
  hasSecret,
  libraryClient,
  problemOf,
  type StoredClient,
  storedFields
} from "./ClientFields.ts"
import { endGrants } from "../Consents.ts"
import { type Library, libraryCall } from "../Library.ts"
import { tokenHashOf, type OAuth2Store } from "../Store.ts"

type Port = OAuth2["Service"]

/** Characters of a client id (RFC 6749 A.1) and of a secret that a client brings. */
const clientId = /^[\x20-\x7e]{1,255}$/
const minSecret = 6

const unknown = new NotFound({ error: "No such client", code: "CLIENT_NOT_FOUND" })
const badPage = new InvalidRequest({ error: "page_token is invalid", code: "INVALID_PAGE_TOKEN" })
const secretless = new InvalidRequest({ error: "This client has no secret", code: "CLIENT_WITHOUT_SECRET" })
const taken = new Conflict({ error: "A client with this id already exists", code: "CLIENT_EXISTS" })
const invalid = (why: string) =>
  new InvalidRequest({ error: `The client can't be registered: ${why}`, code: "INVALID_CLIENT" })
const badMetadata = invalid("metadata contains text that can't be stored, or is nested too deeply")

const otherMethod = invalid("a client with a secret can't become one without, or the reverse; register a new one")

const makeSecret = () => randomBytes(32).toString("base64url")

/** A page token names the last client of the page before. */
const tokenOf = (id: string) => Buffer.from(`>${id}`).toString("base64url")
const idIn = (token: string) => {
  const text = Buffer.from(token, "base64url").toString("utf8")
  return text.startsWith(">") && tokenOf(text.slice(1)) === token && isPathId(text.slice(1)) ? text.slice(1) : undefined
}

/** The registered clients. */
export const clientsOn = ({ own, sql }: OAuth2Store, library: Library) => {
  const find = Effect.fnUntraced(function* (id: string) {
    if (!isPathId(id)) return yield* unknown
    const [row] = yield* own(sql<StoredClient>`select * from svc.oauth2_clients where id = ${id}`)
    return row ?? (yield* unknown)
  })

  const clients: Port["clients"] = Effect.fn("OAuth2.clients")(function* ({ pageSize, pageToken }) {
    const after = pageToken === undefined ? "" : idIn(pageToken)
    if (after === undefined) return yield* badPage
    const rows = yield* own(sql<StoredClient>`
      select * from svc.oauth2_clients where id collate "C" > ${after} order by id collate "C" limit ${pageSize + 1}`)
    const shown = rows.slice(0, pageSize)
    const last = rows.length > pageSize ? shown.at(-1) : undefined
    return { clients: shown.map(clientOf), next: last === undefined ? null : tokenOf(last.id) }
  })

  const refused = {
    refused: ({ error_description, message }: { readonly error_description?: string; readonly message: string }) =>
      invalid(oneLine(error_description ?? message).slice(0, 500))
  }
  const validate = Effect.fnUntraced(function* (row: Pick<StoredClient, "id" | "fields" | "secret_hash">) {
    const { provider } = yield* library
    yield* libraryCall(() => provider.Client.validate(libraryClient(row)), refused)
  })

  const createClient: Port["createClient"] = Effect.fn("OAuth2.createClient")(function* (given) {
    const problem = problemOf(given)
    if (problem !== undefined) return yield* invalid(problem)
    const { client_id: id = randomBytes(16).toString("hex"), client_secret: chosen } = given
    if (typeof id !== "string" || !clientId.test(id)) return yield* invalid("client_id must be printable ASCII")
    if (chosen !== undefined && (typeof chosen !== "string" || chosen.length < minSecret)) {
      return yield* invalid(`client_secret must have at least ${minSecret} characters`)
    }
    const fields = storedFields(given)
    const secret = hasSecret(fields) ? (chosen ?? makeSecret()) : null
    const row = { id, fields: JSON.stringify(fields), secret_hash: secret === null ? null : tokenHashOf(secret) }
    yield* validate(row)
    const [made] = yield* own(sql<StoredClient>`
      insert into svc.oauth2_clients ${sql.insert(row)} on conflict do nothing returning *`)
    return made === undefined ? yield* taken : { client: clientOf(made), secret }
  })

  /** Changes the fields of a client while no other request can. */
  const change = (id: string, to: (fields: JsonObject) => JsonObject) =>
    own(
      sql.withTransaction(
        Effect.gen(function* () {
          const [before] = yield* sql<StoredClient>`select * from svc.oauth2_clients where id = ${id} for update`
          if (before === undefined) return undefined
          const fields = JSON.stringify(to(fieldsOf(before)))
          const [after] = yield* sql<StoredClient>`
            update svc.oauth2_clients set fields = ${fields}, updated_at = now() where id = ${id} returning *`
          return after
        })
      )
    )

  const mergeClientMetadata: Port["mergeClientMetadata"] = Effect.fn("OAuth2.mergeClientMetadata")(function* (
    id,
    metadata,
    changed = {}
  ) {
    if (!isJsonObject(metadata) || !isStorableJson(metadata)) return yield* badMetadata
    const to = (fields: JsonObject): JsonObject => {
      const before = isJsonObject(fields["metadata"]) ? fields["metadata"] : {}
      const kept = Object.entries(before).filter(([name]) => !Object.hasOwn(metadata, name))
      const added = Object.entries(metadata).filter(([, value]) => value !== null)
      return { ...fields, ...changed, metadata: Object.fromEntries([...kept, ...added]) }
    }
    const row = yield* find(id)
    if (Object.keys(changed).length > 0) {
      const fields = to(fieldsOf(row))
      const problem = problemOf(fields)
      if (problem !== undefined) return yield* invalid(problem)
      if (hasSecret(fields) !== (row.secret_hash !== null)) return yield* otherMethod
      yield* validate({ ...row, fields: JSON.stringify(fields) })
    }
    const after = yield* change(id, to)
    return after === undefined ? yield* unknown : clientOf(after)
  })

  const removeClient: Port["removeClient"] = Effect.fn("OAuth2.removeClient")(function* (id) {
    if (!isPathId(id)) return yield* unknown
    const gone = yield* own(
      sql.withTransaction(
        Effect.gen(function* () {
          const grants = (yield* sql<{ grant_id: string }>`
            select grant_id from svc.oauth2_consents where client_id = ${id}`).map(({ grant_id }) => grant_id)
          yield* endGrants(sql, grants)
          return yield* sql`delete from svc.oauth2_clients where id = ${id} returning id`
        })
      )
    )
    if (gone.length === 0) return yield* unknown
  })

  const rotateSecret: Port["rotateSecret"] = Effect.fn("OAuth2.rotateSecret")(function* (id) {
    if ((yield* find(id)).secret_hash === null) return yield* secretless
    const secret = makeSecret()
    const [row] = yield* own(sql<StoredClient>`
      update svc.oauth2_clients set secret_hash = ${tokenHashOf(secret)}, updated_at = now() where id = ${id} returning *`)
    return row === undefined ? yield* unknown : { client: clientOf(row), secret }
  })

  return {
    clients,
    client: (id: string) => Effect.map(find(id), clientOf),
    createClient,
    mergeClientMetadata,
    removeClient,
    rotateSecret
  }
}
