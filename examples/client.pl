# Reads a team, its tags and one user with Perl's core modules: perl client.pl robin@example.com
# An https address also needs IO::Socket::SSL.
use v5.20;
use warnings;
use open qw(:std :utf8);
use Digest::SHA qw(hmac_sha256);
use HTTP::Tiny;
use JSON::PP;
use MIME::Base64 qw(encode_base64url);

my ($base_url, $id, $key) = map { $ENV{$_} // die "$_ is not set\n" }
    qw(MUSTERD_BASE_URL MUSTERD_SECRET_ID MUSTERD_SECRET_KEY);
my $json = JSON::PP->new->utf8->canonical;
my $authority = $ENV{NODE_EXTRA_CA_CERTS};
my $http = HTTP::Tiny->new(verify_SSL => 1, timeout => 60,
    $authority ? (SSL_options => { SSL_ca_file => $authority }) : ());

# A token is good for five minutes.
sub token {
    my @parts = ({ alg => 'HS256', typ => 'JWT' }, { iss => $id, iat => time });
    my $signed = join '.', map { encode_base64url($json->encode($_)) } @parts;
    return $signed . '.' . encode_base64url(hmac_sha256($signed, "$id||$key"));
}

# The answer; any status but 200 ends the program.
sub call {
    my ($method, $path, $body) = @_;
    my $answer = $http->request($method, $base_url . $path, {
        headers => { Authorization => 'Bearer ' . token(), 'Content-Type' => 'application/json' },
        defined $body ? (content => $json->encode($body)) : (),
    });
    if ($answer->{status} != 200) {
        my $headers = $answer->{headers};
        my @why = map { "\n$_: $headers->{$_}" } sort grep { /^x-/ } keys %$headers;
        die "$method $path: $answer->{status} $answer->{content}@why\n";
    }
    return JSON::PP->new->utf8->allow_nonref->decode($answer->{content});
}

# All rows, each once. Pages end with an empty one: a short page proves nothing.
sub pages {
    my ($path) = @_;
    my %rows;
    for (my $page = 0;; $page++) {
        my $found = call('POST', $path, { limit => 100, page => $page });
        return values %rows unless @$found;
        $rows{ $_->{id} } = $_ for @$found;
    }
}

my $team = call('GET', '/v1/team');
say "team $team->{id} $team->{name}, ${\ scalar @{ $team->{members} } } members";
say scalar(pages('/v1/tags')) . ' tags';
# A GET with a JSON body.
say "user $_->{id} $_->{name}" for @{ call('GET', '/v1/users/get', { email => [$ARGV[0]] })->{memberships} };
