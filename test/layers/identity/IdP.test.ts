import { layerIdPKratos } from "../../../src/layers/identity/kratos/Kratos.ts"
import { idpContract } from "../../contract/identity/idp.ts"
import { idpBareContract, idpShortContract } from "../../contract/identity/limits.ts"
import { idpPagesContract } from "../../contract/identity/pages.ts"
import { startFakeIdP } from "../../fakes/identity/server.ts"
import { type IdPUnderTest } from "../../support/identity/idp.ts"
import { afterAll } from "vitest"

/** The identity provider at the URLs `IDP_TEST_…_URL`, to test a real one. */
const named = (kind: string): IdPUnderTest | undefined => {
  const publicUrl = process.env[`IDP_TEST_${kind}PUBLIC_URL`]
  const adminUrl = process.env[`IDP_TEST_${kind}ADMIN_URL`]
  const origin = process.env["IDP_TEST_ORIGIN"] ?? "http://localhost:3000"
  return publicUrl === undefined || adminUrl === undefined ? undefined : { publicUrl, adminUrl, origin }
}

const off = { totp: false, webauthn: false, passkey: false, lookup_secret: false, link: false }

const contracts = [
  ["", idpContract, {}],
  ["", idpPagesContract, {}],
  ["SHORT_", idpShortContract, { flowSeconds: 3, privilegedSeconds: 1 }],
  ["BARE_", idpBareContract, { methods: off }]
] as const

for (const [kind, contract, options] of contracts) {
  const fake = await startFakeIdP(options)
  afterAll(fake.close)
  contract(`the fake idp ${kind}`.trim(), fake, layerIdPKratos(fake))
  const other = named(kind)
  if (other !== undefined) contract(`the idp of IDP_TEST_${kind}PUBLIC_URL`, other, layerIdPKratos(other))
}
