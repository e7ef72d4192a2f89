import { layer } from "@effect/vitest"
import { type Layer } from "effect"
import { type IdP } from "../../../src/services/ports/IdP.ts"
import { type IdPUnderTest } from "../../support/identity/idp.ts"
import { idpAdmin } from "./admin.ts"
import { idpRecoveryCodes } from "./recoveryCodes.ts"
import { idpSessions } from "./sessions.ts"
import { idpSignIn } from "./signIn.ts"
import { idpTotp } from "./totp.ts"
import { idpWebAuthn } from "./webAuthn.ts"

/**
 * The contract of the port, for every identity provider. It must require the highest assurance available of sessions
 * and settings, enable all methods (`webauthn` for second factors), and keep flows and sign-ins valid for minutes.
 */
export const idpContract = (name: string, idp: IdPUnderTest, port: Layer.Layer<IdP>) =>
  layer(port, { excludeTestServices: true, timeout: 60_000 })(name, (it) => {
    idpSessions(it, idp)
    idpAdmin(it, idp)
    idpTotp(it, idp)
    idpWebAuthn(it, idp)
    idpRecoveryCodes(it, idp)
    idpSignIn(it, idp)
  })
