import * as fc from "fast-check"

// In CI, properties are checked with the same values in each run, so that the result does not depend on chance.
// Elsewhere each run uses new values.
if (process.env["CI"] === "true") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_121 })
