import * as fc from "fast-check"
import { guardJsonParse } from "../../src/domain/text/EscapedKeys.ts"

// As the service does it at its start.
guardJsonParse()

// In CI, properties are checked with the same values in each run, so that the result does not depend on chance.
// Elsewhere each run uses new values.
if (process.env["CI"] === "true") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_121 })
