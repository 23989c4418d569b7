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
INSERT INTO "conflicts" VALUES(1,'/admin/policies/t0',1795430081009,'east','{"east~1795430076":1795430081009}',X'85354C76C4F9FE85BE7AEF3650B3538C',1795430081066,'west','concurrent',1795430081138,NULL,X'7B2261646D696E526F6C6573223A5B226C6F736573225D2C22616C6C6F776564436C757374657273223A5B5D7D');
CREATE TABLE consumed (
	sender TEXT NOT NULL, 
	through BIGINT NOT NULL, 
	ahead TEXT NOT NULL, 
	PRIMARY KEY (sender)
);
INSERT INTO "consumed" VALUES('a2de3bab26e83afd0b2d9db405a2d538@east',9,'[]');
INSERT INTO "consumed" VALUES('dddddddddddddddddddddddddddddddd',2,'[]');
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
INSERT INTO "identity" VALUES(1,'west','7c44df40127e7fc5aaf8a3b3a69c76a0@west',1795430077,1,'999cb9da114741e7',1,5,1795430081110,NULL,11,NULL,'1.1',3,3,1795430081311);
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
INSERT INTO "journal" VALUES(1,1795430078957,'/admin/policies/t0','adopted','998204569924@east',X'CD7C04C39751F421B8EC1724DB9C8C52','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(2,1795430078957,'/admin/policies/t1','adopted','998204569924@east',X'4A700EFA4F5A704F3FC238DF9D54359A','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(3,1795430078957,'/admin/policies/t2','adopted','998204569924@east',X'0A1C9ADADA2F53016ABE9BDC41F640B4','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(4,1795430078957,'/admin/policies/t3','adopted','998204569924@east',X'67743D243EC3FEEC831FE42057F2C867','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(5,1795430078957,'/admin/policies/t4','adopted','998204569924@east',X'727AF8097A734F41DF04965860CF8BA1','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(6,1795430078957,'/admin/policies/t5','adopted','998204569924@east',X'3346E037E85DAECA4B43323D11E822C5','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(7,1795430078957,'/admin/policies/t6','adopted','998204569924@east',X'9D3BFB36BB4C4CB391CBF0426A48A99B','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(8,1795430078957,'/admin/policies/t7','adopted','998204569924@east',X'355958DFAEE46D18EF80FD7ABE609BC9','{"east~1795430076":998204569924}','','');
INSERT INTO "journal" VALUES(9,1795430080146,'/admin/policies/acme','published','1795430080098@west',X'E315529CB9854635B6D1CC47850B4083','{"west~1795430077":1795430080098}','','');
INSERT INTO "journal" VALUES(10,1795430080146,'/admin/policies/acme/orders','published','1795430080103@west',X'568DCF5802398DF3184F41F5190EC447','{"west~1795430077":1795430080103}','','');
INSERT INTO "journal" VALUES(11,1795430080146,'/admin/partitioned-topics/acme/orders/persistent/created','published','1795430080108@west',X'252CA6AC5411E14FF34A7D419FC04424','{"west~1795430077":1795430080108}','','');
INSERT INTO "journal" VALUES(12,1795430080622,'/admin/partitioned-topics/acme/orders/persistent/created','published','1795430080570@west',X'1382C1FA112CBA30DD791C58E068690F','{"west~1795430077":1795430080570}','1795430080108@west','');
INSERT INTO "journal" VALUES(13,1795430080809,'/admin/policies/nobody/orders','adopted','1795430080701@north',X'568DCF5802398DF3184F41F5190EC447','{"north~1":1795430080701}','','');
INSERT INTO "journal" VALUES(14,1795430080809,'/admin/policies/nobody/orders','parked','1795430080701@north',X'568DCF5802398DF3184F41F5190EC447','{"north~1":1795430080701}','','parent-missing');
INSERT INTO "journal" VALUES(15,1795430081111,'/admin/policies/t0','published','1795430081066@west',X'FEC8CD18C97AB7C10CE03E308247820A','{"east~1795430076":998204569924,"west~1795430077":1795430081066}','998204569924@east','');
INSERT INTO "journal" VALUES(16,1795430081138,'/admin/policies/t0','conflict-lost','1795430081009@east',X'85354C76C4F9FE85BE7AEF3650B3538C','{"east~1795430076":1795430081009}','1795430081066@west','');
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
INSERT INTO "peers" VALUES('east','a2de3bab26e83afd0b2d9db405a2d538@east',1795430082092,1795430081682,'{"generation":1795430076,"last_sequence":9,"consumed":{"7c44df40127e7fc5aaf8a3b3a69c76a0@west":5},"watermark":1795430081682,"projections":{"tenant":"tenant/1","namespace":"namespace/1","partitioned-topic":"partitioned-topic/1","cluster":"cluster/2","resource-group":"resource-group/1","isolation-policy":"isolation-policy/1","topic-policy":"topic-policy/1"},"scope":"d9712866e903","tie_order":"smaller","mode":"starting","version":"0.1.0","reached":{"7c44df40127e7fc5aaf8a3b3a69c76a0@west":5},"unseated_deletes":0,"oldest_unseated_ms":null,"unfolded":0,"former":[],"left":false,"left_at":0,"forgotten":false,"unmet":false,"gone":false,"refused":[],"kept":[],"refuses":[],"highest":[1795430076,"a2de3bab26e83afd0b2d9db405a2d538@east"],"asked":0,"since":1795430078957}');
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
INSERT INTO "quarantine" VALUES(1,'bus','west:19','value-invalid','a JSON object is due, found an array','/admin/policies/bad','{"syncer.v":"1","syncer.kind":"change","syncer.region":"north","syncer.sender":"dddddddddddddddddddddddddddddddd","syncer.seq":"2","syncer.type":"Modified","syncer.resource":"tenant","syncer.name":"bad","syncer.by":"north~1","syncer.seen":"{\"north~1\":1795430080701}"}',1795430080809,X'00FA82C7FFC068020002262F61646D696E2F706F6C69636965732F626164020A6E6F727468020202065B315D00');
INSERT INTO "quarantine" VALUES(2,'bus','west:20','payload-invalid','undecodable AVRO: expectedVersion is neither null nor a value (union branch byte 255)',NULL,'{}',1795430080809,X'FFFE206E6F207265636F7264');
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
INSERT INTO "registers" VALUES('/admin/partitioned-topics/acme/orders/persistent/created',1,0,0,'acme',1795430080570,1795430080570,'west','west~1795430077','{"west~1795430077":1795430080570}',X'1382C1FA112CBA30DD791C58E068690F',1795430080570,'west','west~1795430077','{"west~1795430077":1795430080570}',X'1382C1FA112CBA30DD791C58E068690F','18',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'252CA6AC5411E14FF34A7D419FC04424',NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/acme',1,0,0,'acme',1795430080098,1795430080098,'west','west~1795430077','{"west~1795430077":1795430080098}',X'E315529CB9854635B6D1CC47850B4083',1795430080098,'west','west~1795430077','{"west~1795430077":1795430080098}',X'E315529CB9854635B6D1CC47850B4083','15',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/acme/orders',1,0,0,'acme',1795430080103,1795430080103,'west','west~1795430077','{"west~1795430077":1795430080103}',X'568DCF5802398DF3184F41F5190EC447',1795430080103,'west','west~1795430077','{"west~1795430077":1795430080103}',X'568DCF5802398DF3184F41F5190EC447','16',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/nobody/orders',0,1,1,'nobody',0,1795430080701,'north','north~1','{"north~1":1795430080701}',X'568DCF5802398DF3184F41F5190EC447',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'parent-missing',1795430080809,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'7B227265706C69636174696F6E5F636C757374657273223A5B2265617374222C2277657374225D2C2262756E646C6573223A7B226E756D42756E646C6573223A347D7D',NULL);
INSERT INTO "registers" VALUES('/admin/policies/t0',1,0,0,'t0',1795430081066,1795430081066,'west','west~1795430077','{"east~1795430076":998204569924,"west~1795430077":1795430081066}',X'FEC8CD18C97AB7C10CE03E308247820A',1795430081066,'west','west~1795430077','{"east~1795430076":998204569924,"west~1795430077":1795430081066}',X'FEC8CD18C97AB7C10CE03E308247820A','19',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,X'CD7C04C39751F421B8EC1724DB9C8C52',NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t1',1,0,0,'t1',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'4A700EFA4F5A704F3FC238DF9D54359A',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'4A700EFA4F5A704F3FC238DF9D54359A','8',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t2',1,0,0,'t2',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'0A1C9ADADA2F53016ABE9BDC41F640B4',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'0A1C9ADADA2F53016ABE9BDC41F640B4','9',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t3',1,0,0,'t3',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'67743D243EC3FEEC831FE42057F2C867',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'67743D243EC3FEEC831FE42057F2C867','10',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t4',1,0,0,'t4',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'727AF8097A734F41DF04965860CF8BA1',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'727AF8097A734F41DF04965860CF8BA1','11',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t5',1,0,0,'t5',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'3346E037E85DAECA4B43323D11E822C5',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'3346E037E85DAECA4B43323D11E822C5','12',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t6',1,0,0,'t6',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'9D3BFB36BB4C4CB391CBF0426A48A99B',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'9D3BFB36BB4C4CB391CBF0426A48A99B','13',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "registers" VALUES('/admin/policies/t7',1,0,0,'t7',0,998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'355958DFAEE46D18EF80FD7ABE609BC9',998204569924,'east','east~1795430076','{"east~1795430076":998204569924}',X'355958DFAEE46D18EF80FD7ABE609BC9','14',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
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
INSERT INTO "status" VALUES(1,1795430082519,'{"region":"west","mode":"active","reported_at_ms":1795430082519,"database_id":"7c44df40127e7fc5aaf8a3b3a69c76a0@west","generation":1795430077,"epoch":1,"genesis":true,"fence":1,"store_id":"999cb9da114741e7","watch_whole":true,"watch_whole_until_ms":1795430081110,"rebuild":null,"paused":null,"pending_reads":1,"pending_writes":0,"signing":{"signs_with":null,"accepts":[],"region_key":null,"region_keys":{},"region_keys_required":false},"clusters":["east","north","west"],"conditions":[{"code":"messages-unsigned","message":"messages are not signed: whoever may publish on the topic can change the metadata of this region; give the group a key ([signing] key_files)"}],"disagreements":[],"peers":[{"region":"east","heard_at_ms":1795430082092,"sent_at_ms":1795430081682,"skew_ms":-61,"lag_ms":349,"same_scope":true,"member":true,"key_id":null}],"hearsay":[],"newcomers":[],"tree":{"root":"e2e1d59031a773fbd9eea6169e43dcb2","alive":12},"comparisons":{"east":{"state":"equal","differing":0,"differs_since_ms":null,"equal_at_ms":1795430082092,"compared_at_ms":null,"round":0}},"tombstones":{"phase":null,"gathered":0,"held_up_by":[{"region":"west","since_ms":1795430081194,"reason":"has consumed changes of database dddddddddddddddddddddddddddddddd, which never told its region"}]},"snapshots":null,"tally":{"believed.nothing":18,"conflicts.concurrent":1,"decisions.adopted":9,"decisions.conflict-lost":1,"decisions.parked":1,"decisions.published":5,"published.acknowledged":5,"published.stamped":5,"quarantined.payload-invalid":1,"quarantined.value-invalid":1,"scans.finished":1,"tombstones.dropped":0,"writes.landed":8}}');
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
INSERT INTO "tree_log" VALUES(1,X'EDB182CADAC270591447DCB6C2DE26F6035600000001DD27AE393A9C7E85C2ECC814B5BCA84DDF44000000018C9DED6A9B4E73598A8D7773A9A4822CAF2900000001BC0BD9500F49E3C957625180EBF674B6082F0000000129A85E622114C6C512B6D89F23BDFC8C85DE00000001193E628A7DF3394E2BC1310A5F90405A4441000000014884F2A47D2F01AD620D38C9B751C46C107400000001781269579FF952920AFD05E70210F8F3FE9A00000001');
INSERT INTO "tree_log" VALUES(2,X'3BFB080E7F373BF84F16EF7F53BF895CE31800000001A24DA56BAB9A6963588B24B3766D43ED90CE00000001A4C2440E681CB7D00890BD4B41534AD2D63900000001');
INSERT INTO "tree_log" VALUES(3,X'A4C2A87D0B44F1793354704793934A76E19000000000');
INSERT INTO "tree_log" VALUES(4,X'1DD9642DAFE39F9C8C7D0FFB53610F92F6A800000001');
INSERT INTO "tree_log" VALUES(5,X'EDB1D0070B51A9119F50D21368BB6BAF473C00000000');
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
INSERT INTO "sqlite_sequence" VALUES('journal',16);
INSERT INTO "sqlite_sequence" VALUES('quarantine',2);
INSERT INTO "sqlite_sequence" VALUES('conflicts',1);
COMMIT;
