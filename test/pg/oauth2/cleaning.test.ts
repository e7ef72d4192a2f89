import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { afterAll } from "vitest"
import { cleanConsents, cleanExpired } from "../../../src/services/oauth2/server/Embedded.ts"
import { makeOAuth2Store } from "../../../src/services/oauth2/server/Store.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { live, Outside } from "../../support/database.ts"
import { startEmbedded } from "../../support/oauth2/embedded.ts"
import { authorizationUrl, challengeAt, exchange, fresh, journey, party, refresh } from "../../support/oauth2/oauth2.ts"
import { refusal } from "../../support/refusals.ts"

const { close, port, server } = await startEmbedded("oauth2_cleaning")
afterAll(close)

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
const count = (table: string) =>
  Effect.map(sql(`select count(*)::int as n from svc.oauth2_${table}`), ([row]) => Number(row?.["n"]))

layer(port, live)("cleaning", (it) => {
  it.effect("deletes what has expired, and no more", () =>
    Effect.gen(function* () {
      const { login } = yield* OAuth2
      const store = yield* makeOAuth2Store(false)
      const of = yield* party()
      const old = yield* challengeAt(startBrowsing(), authorizationUrl(server, of), "login")
      yield* server.expire
      const young = yield* challengeAt(startBrowsing(), authorizationUrl(server, of), "login")
      yield* cleanExpired(store)
      assert.strictEqual(yield* count("items"), 1)
      assert.strictEqual(yield* refusal(login(old)), "410 CHALLENGE_EXPIRED")
      assert.strictEqual((yield* login(young)).challenge, young)
      yield* sql("update svc.oauth2_challenges set expires_at = now() - interval '25 hours' where expires_at < now()")
      // More than a batch.
      yield* sql(`insert into svc.oauth2_items (kind, id, payload, expires_at)
        select 'Interaction', n::text, '{}', now() - interval '1 second' from generate_series(1, 2500) n`)
      yield* cleanExpired(store)
      assert.strictEqual(yield* refusal(login(old)), "404 CHALLENGE_NOT_FOUND")
      assert.strictEqual(yield* count("items"), 1)
    })
  )

  it.effect("keeps consents that are remembered or have tokens", () =>
    Effect.gen(function* () {
      const { consents } = yield* OAuth2
      const store = yield* makeOAuth2Store(false)
      const of = yield* party()
      const how = { browser: startBrowsing(), subject: fresh("ada") }
      const { code } = yield* journey(server, of, how)
      const { body } = yield* exchange(server, of, code)
      yield* journey(server, of, { ...how, remember: true })
      yield* journey(server, of, { ...how, remember: true, more: { prompt: "consent" } })
      for (let n = 0; n < 3; n++) yield* journey(server, of, how)
      const before = yield* count("consents")
      yield* cleanConsents(store)
      assert.strictEqual(yield* count("consents"), before, "of the first day")
      yield* sql("update svc.oauth2_consents set handled_at = handled_at - interval '2 days'")
      yield* sql("update svc.oauth2_items set expires_at = now() where kind = 'AuthorizationCode'")
      yield* cleanExpired(store)
      yield* cleanConsents(store)
      assert.deepStrictEqual(
        (yield* consents(how.subject)).map(({ remember }) => remember),
        [true, false]
      )
      assert.lengthOf(yield* sql("select from svc.oauth2_items where kind = 'Grant'"), 2)
      assert.strictEqual((yield* refresh(server, of, body.refresh_token)).status, 200)
    })
  )

  it.effect("deletes consents of people without an account, if the accounts are the service's own", () =>
    Effect.gen(function* () {
      const { consents } = yield* OAuth2
      const [present, gone] = [randomUUID(), randomUUID()]
      yield* sql("insert into svc.identities (id) values ($1::text::uuid)", [present])
      const of = yield* party()
      const begun = (subject: string) => journey(server, of, { browser: startBrowsing(), subject, remember: true })
      const { code } = yield* begun(gone)
      yield* begun(present)
      const left = () => Effect.all([consents(present), consents(gone)].map(Effect.map((all) => all.length)))
      yield* cleanConsents(yield* makeOAuth2Store(false))
      assert.deepStrictEqual(yield* left(), [1, 1], "the accounts may be elsewhere")
      yield* cleanConsents(yield* makeOAuth2Store(true))
      assert.deepStrictEqual(yield* left(), [1, 0])
      assert.strictEqual((yield* exchange(server, of, code)).status, 400)
    })
  )
})
