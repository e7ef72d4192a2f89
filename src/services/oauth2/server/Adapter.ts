import { type Adapter, type AdapterPayload, errors } from "oidc-provider"
import { type InteractionAnswer, tokenHashOf, type OAuth2Store } from "./Store.ts"
import { libraryClient } from "./clients/ClientFields.ts"

interface Item {
  readonly payload: string
  readonly expired: boolean
  /** s since it was used. */
  readonly used: number | null
}

/** Models that a browser brings back; all others are for clients. */
const ofBrowsers = new Set(["Session", "Interaction"])

/** A refresh token that a client sends twice within this time, in s, is refused but is not considered stolen. */
const reuseGrace = 10

/** Leaves out what would be valid as a cookie or challenge; the library needs neither. */
const stored = (payload: AdapterPayload): AdapterPayload => {
  const { session } = payload
  const kept = session === undefined ? undefined : { ...session, cookie: undefined }
  return { ...payload, jti: undefined, returnTo: undefined, session: kept }
}

/** What the clients of a session know it by: they are notified of its end by that (OpenID Connect Back-Channel Logout 2.4). */
const sidsOf = ({ authorizations }: AdapterPayload) =>
  authorizations === undefined
    ? null
    : JSON.stringify(
        Object.fromEntries(
          Object.entries(authorizations).flatMap(([id, { sid }]) => (sid === undefined ? [] : [[id, sid]]))
        )
      )

/** An interaction with the answer that the current request continues with. */
const withAnswer = (payload: AdapterPayload, { resource, result, sessionLost }: InteractionAnswer): AdapterPayload => ({
  ...payload,
  result,
  session: sessionLost ? undefined : payload.session,
  // A token is only for the audiences that were granted.
  ...(resource === null
    ? {}
    : { params: { ...payload.params, resource: resource.length === 0 ? undefined : resource } })
})

/** The store of the library's models: one row each, by a hash of the id. Clients have a table of their own. */
export const adapterOn = ({ answer, ask, client, ownAccounts, sql }: OAuth2Store) => {
  /**
   * A person's models are stored only while their account exists, and is active if they are for a client. They are
   * deleted with the account: the lock makes a deletion wait for this row, and a row of oauth2_subjects makes the
   * database delete it.
   */
  const ofPerson = (id: string, kind: string) => sql`
    with person as (
      select id from svc.identities where id = ${id}::text::uuid and (state = 'active' or ${ofBrowsers.has(kind)})
      for key share),
    known as (insert into svc.oauth2_subjects (identity_id) select id from person on conflict do nothing)`

  return class PostgresAdapter implements Adapter {
    readonly kind: string
    constructor(kind: string) {
      this.kind = kind
    }

    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      const { accountId = null } = payload
      const values = sql`${this.kind}::text, ${tokenHashOf(id)}::text, ${JSON.stringify(stored(payload))}::text,
        ${payload.grantId ?? null}::text, ${payload.uid ?? null}::text, ${accountId}::text,
        now() + make_interval(secs => ${expiresIn}), ${sidsOf(payload)}::text::jsonb`
      const written =
        await ask(sql`${accountId !== null && ownAccounts ? ofPerson(accountId, this.kind) : sql.literal("")}
        insert into svc.oauth2_items (kind, id, payload, grant_id, uid, account_id, expires_at, sids)
        select ${values} ${accountId !== null && ownAccounts ? sql.literal("from person") : sql.literal("")}
        on conflict (kind, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
          uid = excluded.uid, account_id = excluded.account_id, expires_at = excluded.expires_at, sids = excluded.sids
        returning 1 as one`)
      // A session or a waiting request may be left unstored: it is then unknown in the next request.
      if (written.length === 0 && !ofBrowsers.has(this.kind)) throw new errors.InvalidGrant("the user is not active")
    }

    async find(id: string): Promise<AdapterPayload | undefined> {
      if (this.kind === "Client") {
        const row = await client(id)
        return row && libraryClient(row)
      }
      const [row] = await ask(sql<Item>`
        select payload, expires_at <= now() as expired, extract(epoch from now() - consumed_at)::int as used
        from svc.oauth2_items where kind = ${this.kind} and id = ${tokenHashOf(id)}`)
      return this.read(row, { jti: id })
    }

    /** Returns a model without its id, which is not stored. The result must not be saved. */
    async findByUid(uid: string): Promise<AdapterPayload | undefined> {
      const [row] = await ask(sql<Item>`
        select payload, expires_at <= now() as expired, null::int as used
        from svc.oauth2_items where kind = ${this.kind} and uid = ${uid}`)
      return this.read(row, {})
    }

    /** Device codes, which are not enabled. */
    async findByUserCode() {
      return undefined
    }

    /**
     * The library checks whether it was used before it calls this; only the database decides which of two was first.
     */
    async consume(id: string) {
      const rows = await ask(sql<{ grant_id: string }>`
        update svc.oauth2_items set consumed_at = now()
        where kind = ${this.kind} and id = ${tokenHashOf(id)} and consumed_at is null returning grant_id`)
      const [row] = rows
      if (row === undefined) {
        // A code that is used twice at once has been intercepted: the tokens of the first use end too (RFC 6749 4.1.2).
        if (this.kind === "AuthorizationCode") await this.endGrantOf(id)
        throw new errors.InvalidGrant("already used")
      }
      // The new tokens replace the old ones.
      if (this.kind === "RefreshToken") {
        await ask(sql`delete from svc.oauth2_items where kind = 'AccessToken' and grant_id = ${row.grant_id}`)
      }
    }

    async destroy(id: string) {
      await ask(sql`delete from svc.oauth2_items where kind = ${this.kind} and id = ${tokenHashOf(id)}`)
    }

    async revokeByGrantId(grantId: string) {
      await ask(sql`delete from svc.oauth2_items where kind = ${this.kind} and grant_id = ${grantId}`)
    }

    private read(row: Item | undefined, id: { readonly jti?: string }): AdapterPayload | undefined {
      if (row === undefined || row.expired) return undefined
      const payload = JSON.parse(row.payload) as AdapterPayload
      const hidden = row.used === null || (this.kind === "RefreshToken" && row.used < reuseGrace)
      const read = { ...payload, ...id, ...(hidden ? {} : { consumed: true }) }
      const answered = this.kind === "Interaction" ? answer() : undefined
      return answered === undefined || answered.uid !== id.jti ? read : withAnswer(read, answered)
    }

    private async endGrantOf(id: string) {
      const [row] = await ask(sql<{ grant_id: string }>`
        select grant_id from svc.oauth2_items where kind = ${this.kind} and id = ${tokenHashOf(id)}`)
      if (row === undefined) return
      await ask(sql`
        delete from svc.oauth2_items
        where grant_id = ${row.grant_id} or kind = 'Grant' and id = ${tokenHashOf(row.grant_id)}`)
    }
  }
}
