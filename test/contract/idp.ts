import { layer } from "@effect/vitest"
import { type Layer } from "effect"
import { type IdP } from "../../src/services/ports/IdP.ts"
import { type IdPUnderTest } from "../support/idp.ts"
import { idpAdmin } from "./idpAdmin.ts"
import { idpRecoveryCodes } from "./idpRecoveryCodes.ts"
import { idpSessions } from "./idpSessions.ts"
import { idpSignIn } from "./idpSignIn.ts"
import { idpTotp } from "./idpTotp.ts"
import { idpWebAuthn } from "./idpWebAuthn.ts"

/**
 * What the port promises, whichever idp is behind it. It must want the highest assurance there is of sessions and
 * settings, have all methods on (`webauthn` for second factors), and flows and sign-ins that stay good for minutes.
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
