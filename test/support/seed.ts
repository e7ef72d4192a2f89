import * as fc from "fast-check"

// Whether a change can be taken must not depend on chance: there, properties are tried with the same values each time.
// At the desk they look further with every run.
if (process.env["CI"] === "true") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_121 })
