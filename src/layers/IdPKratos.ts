import { Effect, Layer } from "effect"
import { IdP } from "../services/ports/IdP.ts"
import { type IdPAddress } from "./IdPAddress.ts"
import { makeAdmin } from "./IdPKratosAdmin.ts"
import { makeKratos } from "./IdPKratosClient.ts"
import { makeRecoveryCodes } from "./IdPKratosRecoveryCodes.ts"
import { makeSessions } from "./IdPKratosSessions.ts"
import { makeSignIn } from "./IdPKratosSignIn.ts"
import { makeTotp } from "./IdPKratosTotp.ts"
import { makeWebAuthn } from "./IdPKratosWebAuthn.ts"
import { type UpstreamAnswer } from "./UpstreamHttp.ts"

/** A component that takes longer to say so is not ready, in ms. */
const readyMillis = 2_000

/** Ory Kratos (checked against v26.2.0), or what speaks as it does, over its public and admin HTTP APIs. */
export const layerIdPKratos = (address: IdPAddress) =>
  Layer.effect(
    IdP,
    Effect.gen(function* () {
      const kratos = yield* makeKratos(address)
      const isUp = <E>(answer: Effect.Effect<UpstreamAnswer, E>) =>
        Effect.match(Effect.timeout(answer, readyMillis), {
          onFailure: () => false,
          onSuccess: ({ status }) => status === 200
        })
      const health = { method: "GET", path: "/health/ready", once: true } as const
      const ready = Effect.map(
        Effect.all(
          [
            isUp(kratos.ask(health)),
            address.adminUrl === undefined
              ? Effect.succeed(true)
              : isUp(kratos.admin({ ...health, path: "/admin/health/ready" }))
          ],
          { concurrency: "unbounded" }
        ),
        (both) => both.every(Boolean)
      )
      return IdP.of({
        configured: true,
        ready,
        loginUrl: ({ aal, refresh, returnTo }) =>
          Effect.succeed(
            kratos.loginUrl({
              ...(aal === undefined ? {} : { aal }),
              ...(refresh === true ? { refresh: "true" } : {}),
              return_to: returnTo
            })
          ),
        ...makeSessions(kratos),
        ...makeAdmin(kratos),
        ...makeTotp(kratos, new URL(address.publicUrl).hostname),
        ...makeWebAuthn(kratos),
        ...makeRecoveryCodes(kratos),
        ...makeSignIn(kratos)
      })
    })
  )
