import { Effect, Layer } from "effect"
import { IdP } from "../../../services/ports/IdP.ts"
import { type IdPAddress } from "../Address.ts"
import { makeKratosAdmin } from "./Admin.ts"
import { makeKratos } from "./Client.ts"
import { makeKratosRecoveryCodes } from "./RecoveryCodes.ts"
import { makeKratosSessions } from "./Sessions.ts"
import { makeKratosSignIn } from "./SignIn.ts"
import { makeKratosTotp } from "./Totp.ts"
import { makeWebAuthn } from "./WebAuthn.ts"
import { type UpstreamAnswer } from "../../net/Upstream.ts"

/** Time limit of readiness checks, in ms. */
const readyMillis = 2_000

/** Ory Kratos (tested with v26.2.0), or a compatible server, over its public and admin HTTP APIs. */
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
            isUp(kratos.call(health)),
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
              ...(returnTo === undefined ? {} : { return_to: returnTo })
            })
          ),
        ...makeKratosSessions(kratos),
        ...makeKratosAdmin(kratos),
        ...makeKratosTotp(kratos, new URL(address.publicUrl).hostname),
        ...makeWebAuthn(kratos),
        ...makeKratosRecoveryCodes(kratos),
        ...makeKratosSignIn(kratos)
      })
    })
  )
