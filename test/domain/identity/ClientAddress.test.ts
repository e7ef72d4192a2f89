import { assert, describe, it } from "@effect/vitest"
import { clientAddressOf, proxiesOf } from "../../../src/domain/identity/ClientAddress.ts"

const address = (list: string, peer: string, forwarded?: string) => {
  const isProxy = proxiesOf(list.split(","))
  assert.isDefined(isProxy)
  return isProxy === undefined ? "" : clientAddressOf(peer, forwarded, isProxy)
}

describe("clientAddressOf", () => {
  it.each<[string, string, string | undefined, string]>([
    ["private", "9.9.9.9", undefined, "9.9.9.9"],
    // A public peer is the client itself.
    ["private", "9.9.9.9", "198.51.100.1", "9.9.9.9"],
    ["private", "127.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"],
    ["private", "::ffff:172.17.0.1", "198.51.100.1", "198.51.100.1"],
    // Only one hop: a client of a private network must not choose its address.
    ["private", "127.0.0.1", "6.6.6.6, 192.168.1.5", "192.168.1.5"],
    ["private", "127.0.0.1", "6.6.6.6, unknown", "127.0.0.1"],
    ["private", "127.0.0.1", undefined, "127.0.0.1"],
    ["none", "127.0.0.1", "198.51.100.1", "127.0.0.1"],
    ["10.0.0.1", "127.0.0.1", "198.51.100.1", "127.0.0.1"],
    // A CDN with public addresses, before a proxy of one's own.
    ["10.0.0.0/8,192.0.2.0/24", "10.1.2.3", "6.6.6.6, 198.51.100.1, 192.0.2.7", "198.51.100.1"],
    ["private,192.0.2.0/24", "10.1.2.3", "6.6.6.6, 198.51.100.1, 192.0.2.7", "198.51.100.1"],
    ["2001:db8:ffff::/48", "2001:db8:ffff::1", "2001:db8:1:2:3::4", "8193:3512:1:2"],
    ["private", "", undefined, "unknown"]
  ])("%s: %s with %s is %s", (list, peer, forwarded, expected) => {
    assert.strictEqual(address(list, peer, forwarded), expected)
  })
})

it.each(["none,private", "10.0.0.0/33", "example.com", "10.0.0", "10.0.0.0/8/8", "::/129"])(
  "proxiesOf rejects %s",
  (list) => assert.isUndefined(proxiesOf(list.split(",")))
)
