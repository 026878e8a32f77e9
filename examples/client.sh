#!/bin/sh
# Reads a team, its tags and one user with curl and openssl: sh client.sh robin@example.com
# For more than this, read the answers with jq; here they are taken apart by hand.
set -eu
: "${MUSTERD_BASE_URL:?}" "${MUSTERD_SECRET_ID:?}" "${MUSTERD_SECRET_KEY:?}"

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# A token is good for five minutes.
token() {
  signed="$(printf '{"alg":"HS256","typ":"JWT"}' | base64url).$(
    printf '{"iss":"%s","iat":%s}' "$MUSTERD_SECRET_ID" "$(date +%s)" | base64url
  )"
  # The key is seen by other users of this machine while openssl runs: use another language where that matters.
  signature=$(printf '%s' "$signed" |
    openssl dgst -binary -sha256 -hmac "$MUSTERD_SECRET_ID||$MUSTERD_SECRET_KEY" | base64url)
  printf '%s.%s' "$signed" "$signature"
}

# call <method> <path> [<json>] prints the answer; any status but 200 ends the program.
call() {
  headers=$(mktemp)
  answer=$(printf 'header = "Authorization: Bearer %s"\n' "$(token)" |
    curl -sS ${NODE_EXTRA_CA_CERTS:+--cacert "$NODE_EXTRA_CA_CERTS"} -K - -D "$headers" -X "$1" \
      -H 'Content-Type: application/json' ${3:+-d "$3"} "$MUSTERD_BASE_URL$2")
  status=$(sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p' "$headers")
  reason=$(tr -d '\r' <"$headers" | grep -iE '^x-(request-id|emulator-reason):' || true)
  rm -f "$headers"
  [ "$status" = 200 ] || { printf '%s %s: %s %s\n%s\n' "$1" "$2" "$status" "$answer" "$reason" >&2; exit 1; }
  printf '%s' "$answer"
}

team=$(call GET /v1/team)
members=$(printf '%s' "$team" | grep -o '"role":' | wc -l)
printf '%s\n' "$team" | sed "s/^{\"id\":\([0-9]*\),\"name\":\"\([^\"]*\)\".*/team \1 \2, $((members)) members/"

# Pages end with an empty one: a short page proves nothing.
page=0 ids=''
while :; do
  rows=$(call POST /v1/tags "{\"limit\":100,\"page\":$page}")
  [ "$rows" != '[]' ] || break
  ids="$ids
$(printf '%s' "$rows" | grep -o '"id":[0-9]*,"team_id"')"
  page=$((page + 1))
done
printf '%s tags\n' "$(($(printf '%s' "$ids" | sort -u | grep -c . || true)))"

# A GET with a JSON body.
user=$(call GET /v1/users/get "{\"email\":[\"$1\"]}")
printf '%s\n' "$user" | sed -n 's/^{"memberships":\[{"id":\([0-9]*\),"name":"\([^"]*\)".*/user \1 \2/p'
