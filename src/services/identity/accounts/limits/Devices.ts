import { Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { IdentitySignatures } from "../../../access/Signatures.ts"
import { CurrentDevice, deviceCookie } from "../../../ports/identity/Accounts.ts"
import { AccountSettings } from "../../AccountSettings.ts"

const days = 180

/**
 * Signed cookies of browsers that have signed in to an account before (OWASP: device cookies). Guesses of others do not keep
 * such a browser out, and its own are limited by themselves. A cookie is worth nothing without the password.
 */
export class Devices extends Context.Service<Devices>()("svc/identity/Devices", {
  make: Effect.gen(function* () {
    const { ownUrl } = yield* AccountSettings
    const signatures = yield* IdentitySignatures
    const secure = ownUrl.startsWith("https:") ? "; Secure" : ""
    return {
      /** The id of this browser, if it has signed in by this name; undefined if not. */
      known: Effect.fnUntraced(function* (name: string) {
        const { mark = "" } = yield* CurrentDevice
        const [id = "", signature = ""] = mark.split(".")
        if (!/^[\w-]{22}$/.test(id)) return undefined
        return (yield* signatures.verify("device", `${id} ${name}`, signature)) ? id : undefined
      }),
      /** The Set-Cookie line for a browser that has signed in by a name. */
      cookie: Effect.fnUntraced(function* (name: string) {
        const id = randomBytes(16).toString("base64url")
        const value = `${id}.${yield* signatures.sign("device", `${id} ${name}`)}`
        return `${deviceCookie}=${value}; Path=/; Max-Age=${days * 86_400}; HttpOnly; SameSite=Lax${secure}`
      })
    }
  })
}) {
  static readonly layer = Layer.effect(Devices, Devices.make)
}
