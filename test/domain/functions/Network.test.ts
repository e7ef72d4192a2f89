import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import ipaddr from "ipaddr.js"
import { deniedNetwork } from "../../../src/domain/functions/Network.ts"
import { isPublicAddress } from "../../../src/domain/PublicAddress.ts"
import { holds } from "../../support/properties.ts"

const ranges = deniedNetwork([])
  .filter((one) => one.includes("/"))
  .map((one) => ipaddr.IPv4.parseCIDR(one))
const isDenied = (address: string) => ranges.some((range) => ipaddr.IPv4.parse(address).match(range))
const textOf = (value: number) => [24, 16, 8, 0].map((bits) => (value >>> bits) & 255).join(".")
const numberOf = (address: ipaddr.IPv4) => address.octets.reduce((sum, octet) => sum * 256 + octet, 0)

const agrees = (value: number) =>
  assert.strictEqual(isDenied(textOf(value)), !isPublicAddress(textOf(value)), textOf(value))

it.effect("Deno is denied exactly the IPv4 addresses that are not public for the rest of the service", () =>
  Effect.gen(function* () {
    for (const [first, bits] of ranges) {
      const from = numberOf(first)
      const to = from + 2 ** (32 - bits) - 1
      for (const value of [from - 1, from, to, to + 1]) if (value >= 0 && value < 2 ** 32) agrees(value)
    }
    // Every network of 256 addresses, and any addresses.
    for (let network = 0; network < 2 ** 24; network += 251) agrees(network * 256 + (network % 256))
    yield* holds(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => Effect.sync(() => agrees(value)))
  })
)

it("its own addresses, and those of clouds' metadata, are denied in the form that Deno takes", () => {
  const denied = deniedNetwork(["192.0.2.7", "2606:4700::1111"])
  assert.includeMembers([...denied], ["192.0.2.7", "[2606:4700::1111]", "[::1]", "[::]", "[fd00:ec2::254]"])
})
