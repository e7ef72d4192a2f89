/**
 * `fetch` for URLs that other people's programs name: it connects to the public Internet only, does not follow redirects,
 * and reads no large response. Implemented by layers/net/Outbound.ts.
 */
export type PublicFetch = (url: string | URL, options?: RequestInit) => Promise<Response>
