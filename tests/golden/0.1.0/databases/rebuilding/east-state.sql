PRAGMA application_id = 0;
PRAGMA user_version = 0;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0012');
CREATE TABLE carried (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	path TEXT NOT NULL, 
	head TEXT NOT NULL, 
	value BLOB
);
CREATE TABLE conflicts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	path TEXT NOT NULL, 
	loser_time BIGINT NOT NULL, 
	loser_region TEXT NOT NULL, 
	loser_seen TEXT NOT NULL, 
	loser_digest BLOB, 
	winner_time BIGINT NOT NULL, 
	winner_region TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	restored_at BIGINT, 
	value BLOB
);
CREATE TABLE consumed (
	sender TEXT NOT NULL, 
	through BIGINT NOT NULL, 
	ahead TEXT NOT NULL, 
	PRIMARY KEY (sender)
);
CREATE TABLE daemons (
	id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	pid BIGINT NOT NULL, 
	version TEXT NOT NULL, 
	role TEXT NOT NULL, 
	epoch BIGINT, 
	started_at BIGINT NOT NULL, 
	since BIGINT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	trouble TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE future_events (
	path TEXT NOT NULL, 
	time BIGINT NOT NULL, 
	region TEXT NOT NULL, 
	held_at BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	value BLOB, until BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (path, time, region)
);
CREATE TABLE held_publications (
	path TEXT NOT NULL, 
	head TEXT NOT NULL, 
	value BLOB, 
	PRIMARY KEY (path)
);
CREATE TABLE identity (
	one INTEGER NOT NULL, 
	region TEXT NOT NULL, 
	database_id TEXT NOT NULL, 
	generation INTEGER NOT NULL, 
	genesis BOOLEAN NOT NULL, 
	store_id TEXT, 
	epoch BIGINT NOT NULL, 
	last_sequence BIGINT NOT NULL, 
	alive_until BIGINT NOT NULL, 
	paused TEXT, 
	alive_count BIGINT NOT NULL, rebuild TEXT, landed TEXT, mark BIGINT DEFAULT '0' NOT NULL, marked BIGINT DEFAULT '0' NOT NULL, heard_until BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (one), 
	CONSTRAINT identity_is_one_row CHECK (one = 1)
);
INSERT INTO "identity" VALUES(1,'east','0721cb26b664186654145e89338b9026@east',1795430108,0,'0a782277f254520f',1,0,0,NULL,0,'{"phase":"hearing","reason":"the region''s fence names another database (c70fd62f3fc754a9d831ea6216730e05@east)","former":["42d988fe61cf1d9338cabaa7403fd835@east","c70fd62f3fc754a9d831ea6216730e05@east"],"without":[],"alone":false,"ambiguous":false}','0.0',4,4,0);
CREATE TABLE journal (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	path TEXT NOT NULL, 
	decision TEXT NOT NULL, 
	stamp TEXT NOT NULL, 
	digest BLOB, 
	seen TEXT NOT NULL, 
	against TEXT NOT NULL, 
	detail TEXT NOT NULL
);
CREATE TABLE membership (
	one INTEGER NOT NULL, 
	floor BIGINT NOT NULL, 
	left_at BIGINT, 
	PRIMARY KEY (one), 
	CONSTRAINT membership_is_one_row CHECK (one = 1)
);
CREATE TABLE met (
	path TEXT NOT NULL, 
	PRIMARY KEY (path)
)
 WITHOUT ROWID

;
CREATE TABLE operations (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	arguments TEXT NOT NULL, 
	asked_by TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	asked_at BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	code TEXT NOT NULL, 
	finished_at BIGINT
);
CREATE TABLE outbox (
	sequence INTEGER NOT NULL, 
	path TEXT NOT NULL, 
	enqueued_at BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	value BLOB, 
	PRIMARY KEY (sequence)
);
CREATE TABLE peers (
	region TEXT NOT NULL, 
	sender TEXT NOT NULL, 
	heard_at BIGINT NOT NULL, 
	sent_at BIGINT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (region)
);
INSERT INTO "peers" VALUES('west','abe5345017b22fa05b32ba071aa5eede@west',1795430107799,1795430106025,'{"generation":1795430100,"last_sequence":1,"consumed":{"c70fd62f3fc754a9d831ea6216730e05@east":6},"watermark":1795430106025,"projections":{"tenant":"tenant/1","namespace":"namespace/1","partitioned-topic":"partitioned-topic/1","cluster":"cluster/2","resource-group":"resource-group/1","isolation-policy":"isolation-policy/1","topic-policy":"topic-policy/1"},"scope":"d9712866e903","tie_order":"smaller","mode":"active","version":"0.1.0","reached":{"c70fd62f3fc754a9d831ea6216730e05@east":6,"c2aef244e38263299a3e6900c6c3a0b6@north":0},"unseated_deletes":0,"oldest_unseated_ms":null,"unfolded":0,"former":[],"left":false,"left_at":0,"forgotten":false,"unmet":false,"gone":false,"refused":[],"kept":[],"refuses":[],"highest":[1795430100,"abe5345017b22fa05b32ba071aa5eede@west"],"asked":0,"since":1795430107799}');
INSERT INTO "peers" VALUES('north','c2aef244e38263299a3e6900c6c3a0b6@north',1795430107799,1795430107248,'{"generation":1795430099,"last_sequence":0,"consumed":{"c70fd62f3fc754a9d831ea6216730e05@east":6,"abe5345017b22fa05b32ba071aa5eede@west":1},"watermark":1795430107248,"projections":{"tenant":"tenant/1","namespace":"namespace/1","partitioned-topic":"partitioned-topic/1","cluster":"cluster/2","resource-group":"resource-group/1","isolation-policy":"isolation-policy/1","topic-policy":"topic-policy/1"},"scope":"d9712866e903","tie_order":"smaller","mode":"starting","version":"0.1.0","reached":{"c70fd62f3fc754a9d831ea6216730e05@east":6,"abe5345017b22fa05b32ba071aa5eede@west":1},"unseated_deletes":0,"oldest_unseated_ms":null,"unfolded":0,"former":[],"left":false,"left_at":0,"forgotten":false,"unmet":false,"gone":false,"refused":[],"kept":[],"refuses":[],"highest":[1795430099,"c2aef244e38263299a3e6900c6c3a0b6@north"],"asked":0,"since":1795430107799}');
CREATE TABLE quarantine (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	origin TEXT NOT NULL, 
	position TEXT NOT NULL, 
	code TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	path TEXT, 
	properties TEXT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	payload BLOB NOT NULL
);
CREATE TABLE registers (
	path TEXT NOT NULL, 
	alive SMALLINT NOT NULL, 
	due SMALLINT NOT NULL, 
	unsettled SMALLINT NOT NULL, 
	tenant TEXT NOT NULL, 
	own BIGINT NOT NULL, 
	k_time BIGINT, 
	k_region TEXT, 
	k_by TEXT, 
	k_seen TEXT, 
	k_digest BLOB, 
	s_time BIGINT, 
	s_region TEXT, 
	s_by TEXT, 
	s_seen TEXT, 
	s_digest BLOB, 
	s_revision TEXT, 
	hold_reason TEXT, 
	hold_time BIGINT, 
	hold_region TEXT, 
	hold_since BIGINT, 
	hold_detail TEXT, 
	hold_local SMALLINT, 
	allowed_time BIGINT, 
	allowed_region TEXT, 
	parked_reason TEXT, 
	parked_since BIGINT, 
	parked_detail TEXT, 
	intent_batch TEXT, 
	intent_expected TEXT, 
	intent_time BIGINT, 
	intent_region TEXT, 
	intent_by TEXT, 
	intent_seen TEXT, 
	intent_digest BLOB, 
	wish TEXT, 
	left_digest BLOB, 
	flips TEXT, 
	k_value BLOB, 
	intent_value BLOB, 
	PRIMARY KEY (path)
)
 WITHOUT ROWID

;
INSERT INTO "registers" VALUES('/admin/policies/acme',0,1,1,'acme',0,1795430103979,'west','west~1795430100','{"west~1795430100":1795430103979}',X'578814B39717D6B70F29F58A435BAF9D',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t0',0,1,1,'t0',1795430103934,1795430103934,'east','east~1795430100','{"east~1795430100":1795430103934}',X'CD7C04C39751F421B8EC1724DB9C8C52',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t1',0,1,1,'t1',1795430103943,1795430103943,'east','east~1795430100','{"east~1795430100":1795430103943}',X'4A700EFA4F5A704F3FC238DF9D54359A',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t2',0,1,1,'t2',1795430103953,1795430103953,'east','east~1795430100','{"east~1795430100":1795430103953}',X'0A1C9ADADA2F53016ABE9BDC41F640B4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t3',0,1,1,'t3',1795430103955,1795430103955,'east','east~1795430100','{"east~1795430100":1795430103955}',X'67743D243EC3FEEC831FE42057F2C867',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t4',0,1,1,'t4',1795430105602,1795430105602,'east','east~1795430100','{"east~1795430100":1795430105602}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE repairs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	state TEXT NOT NULL, 
	document TEXT NOT NULL, 
	made_at BIGINT NOT NULL, 
	finished_at BIGINT
);
CREATE TABLE status (
	one INTEGER NOT NULL, 
	reported_at BIGINT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (one), 
	CONSTRAINT status_is_one_row CHECK (one = 1)
);
INSERT INTO "status" VALUES(1,1795430107783,'{"region":"east","mode":"rebuilding","reported_at_ms":1795430107783,"database_id":"0721cb26b664186654145e89338b9026@east","generation":1795430108,"epoch":1,"genesis":false,"fence":2,"store_id":"0a782277f254520f","watch_whole":false,"watch_whole_until_ms":0,"rebuild":{"phase":"hearing","reason":"the region''s fence names another database (c70fd62f3fc754a9d831ea6216730e05@east)","heard":0,"members":2,"waits_for":["north","west"],"without":[],"registers":0,"trouble":{},"message":"rebuilding: heard 0 of 2 peers, 0 registers"},"paused":null,"pending_reads":0,"pending_writes":0,"signing":{"signs_with":null,"accepts":[],"region_key":null,"region_keys":{},"region_keys_required":false},"clusters":["east","north","west"],"conditions":[{"code":"rebuilding","message":"rebuilding: heard 0 of 2 peers, 0 registers: the region''s fence names another database (c70fd62f3fc754a9d831ea6216730e05@east); waits for north, west (absent for good? ''syncer state rebuild --without REGION'')"},{"code":"messages-unsigned","message":"messages are not signed: whoever may publish on the topic can change the metadata of this region; give the group a key ([signing] key_files)"}],"disagreements":[],"peers":[{"region":"north","heard_at_ms":1795430107799,"sent_at_ms":1795430107248,"skew_ms":-551,"lag_ms":0,"same_scope":true,"member":true,"key_id":null},{"region":"west","heard_at_ms":1795430107799,"sent_at_ms":1795430106025,"skew_ms":-1774,"lag_ms":0,"same_scope":true,"member":true,"key_id":null}],"hearsay":[],"newcomers":[],"tree":{"root":"00000000000000000000000000000000","alive":0},"comparisons":{"north":{"state":"unknown","differing":0,"differs_since_ms":null,"equal_at_ms":null,"compared_at_ms":null,"round":0},"west":{"state":"unknown","differing":0,"differs_since_ms":null,"equal_at_ms":null,"compared_at_ms":null,"round":0}},"tombstones":{"phase":null,"gathered":0,"held_up_by":[]},"snapshots":null,"tally":{"believed.nothing":2,"rebuilds.begun":1}}');
CREATE TABLE tellings (
	repair INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	path TEXT NOT NULL, 
	found_in TEXT NOT NULL, 
	refused TEXT, 
	head TEXT, 
	value BLOB, 
	PRIMARY KEY (repair, number)
);
CREATE TABLE tree (
	one INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	PRIMARY KEY (one), 
	CONSTRAINT tree_is_one_row CHECK (one = 1)
);
INSERT INTO "tree" VALUES(1,'256x256/crc32/blake2b-128/1/689059a0760d paths/2',0);
CREATE TABLE tree_log (
	number INTEGER NOT NULL, 
	changes BLOB NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "tree_log" VALUES(1,X'3BFBE6C66CE70D44F67C7F2E7B54F41E9A9A00000001EDB182CADAC270591447DCB6C2DE26F6035600000001DD27AE393A9C7E85C2ECC814B5BCA84DDF44000000018C9DED6A9B4E73598A8D7773A9A4822CAF2900000001BC0BD9500F49E3C957625180EBF674B6082F00000001');
CREATE TABLE tree_pages (
	page INTEGER NOT NULL, 
	sums BLOB NOT NULL, 
	PRIMARY KEY (page)
);
CREATE INDEX future_events_time ON future_events (time, region, path);
CREATE INDEX journal_path ON journal (path, id);
CREATE INDEX operations_state ON operations (state, id);
CREATE INDEX outbox_path ON outbox (path);
CREATE UNIQUE INDEX quarantine_position ON quarantine (origin, position);
CREATE INDEX registers_held ON registers (path) WHERE hold_reason IS NOT NULL;
CREATE INDEX registers_parked ON registers (path) WHERE parked_reason IS NOT NULL;
CREATE INDEX registers_unsettled ON registers (path) WHERE unsettled = 1;
CREATE INDEX registers_dead ON registers (k_time, path) WHERE unsettled = 0 AND k_digest IS NULL AND k_time IS NOT NULL;
CREATE INDEX registers_unseated ON registers (k_time) WHERE due = 1 AND k_digest IS NULL AND k_time IS NOT NULL;
CREATE INDEX repairs_state ON repairs (state, id);
CREATE INDEX journal_deletes ON journal (at) WHERE decision = 'published' AND digest IS NULL;
CREATE INDEX future_events_until ON future_events (until);
CREATE INDEX conflicts_loser ON conflicts (path, loser_time, loser_region);
DELETE FROM "sqlite_sequence";
COMMIT;
