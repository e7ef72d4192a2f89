/** Whether `text` is of the form of `pattern`, where `*` stands for any text and `?` for any one character. */
export const matchesWildcards = (pattern: string, text: string): boolean => {
  // The last star and where its match may be made longer: no backtracking beyond it is ever needed.
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
