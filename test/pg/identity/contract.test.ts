import { idpContract } from "../../contract/identity/idp.ts"
import { idpShortContract } from "../../contract/identity/limits.ts"
import { embeddedUnderTest } from "../../support/identity/embedded.ts"

const { idp, port } = embeddedUnderTest("idp")
idpContract("the embedded identity provider", idp, port)

const short = embeddedUnderTest("idp_short", { SVC_AUTH_FLOW_LIFESPAN: "3s", SVC_SESSION_PRIVILEGED: "1s" })
idpShortContract("the embedded identity provider, with short lives", short.idp, short.port)
