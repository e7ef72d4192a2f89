/** Whether `text` matches `pattern`, where `*` matches any text and `?` any single character. */
export const matchesWildcards = (pattern: string, text: string): boolean => {
  // Only the last star's match is ever extended: no backtracking beyond it is needed.
  let [p, t, star, from] = [0, 0, -1, 0]
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++
      from = t
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++from
    } else return false
  }
  while (pattern[p] === "*") p++
  return p === pattern.length
}
